/*
 * Writes lines to standard error: see daemon_log.h.
 */
#include "daemon/daemon_log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/write_all.h"

#define HS_LINE_BYTES 1024

void hs_daemon_log(const char *format, ...)
{
    char line[HS_LINE_BYTES] = "heapscoped: ";
    size_t start = strlen(line);
    va_list args;
    va_start(args, format);
    vsnprintf(line + start, sizeof(line) - start - 1, format, args);
    va_end(args);
    size_t bytes = strlen(line);
    line[bytes++] = '\n';
    (void)hs_write_all(STDERR_FILENO, line, bytes);
}

void hs_daemon_log_text(const char *text)
{
    hs_daemon_log("%s", text);
}
