/*
 * Messages on standard error: see message.h.
 *
 * The text is formatted, then copied with a prefix in front of every line, and sanitized: it may
 * quote arbitrary bytes of a file. Both buffers are on the stack, because a message may report that
 * memory ran out.
 */
#include "cli/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/utf8.h"
#include "util/write_all.h"

#define HS_MESSAGE_BYTES_MAX 4096

static bool quiet;

static void HS_PRINTF(1, 0) print(const char *format, va_list args)
{
    static const char prefix[] = "heapscope: ";
    char text[HS_MESSAGE_BYTES_MAX], out[2 * HS_MESSAGE_BYTES_MAX];
    size_t out_bytes = 0;
    int saved_errno = errno;
    vsnprintf(text, sizeof(text), format, args);
    for (const char *line = text; *line;) {
        size_t line_bytes = strcspn(line, "\n");
        /* Many short lines, each with a prefix, may not fit: the text is cut there. */
        if (out_bytes + sizeof(prefix) > sizeof(out)) {
            break;
        }
        memcpy(out + out_bytes, prefix, sizeof(prefix) - 1);
        out_bytes += sizeof(prefix) - 1;
        out_bytes += hs_utf8_clean(line, line_bytes, out + out_bytes, sizeof(out) - 1 - out_bytes);
        out[out_bytes++] = '\n';
        line += line_bytes + (line[line_bytes] == '\n');
    }
    (void)hs_write_all(STDERR_FILENO, out, out_bytes);
    errno = saved_errno;
}

void hs_message(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print(format, args);
    va_end(args);
}

void hs_message_info(const char *format, ...)
{
    if (quiet) {
        return;
    }
    va_list args;
    va_start(args, format);
    print(format, args);
    va_end(args);
}

void hs_message_set_quiet(bool is_quiet)
{
    quiet = is_quiet;
}

void hs_message_text(const char *text)
{
    hs_message("%s", text);
}
