/*
 * See text_error.h.
 */
#include "check/text_error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int hs_text_error_set(struct hs_text_error *error, unsigned line, const char *format, ...)
{
    va_list args;
    error->line = line;
    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    /* The message quotes a file that may be foreign, so nothing in it may control the terminal. */
    for (char *c = error->text; *c != '\0'; c++) {
        *c = (unsigned char)*c < ' ' || *c == 0x7F ? '?' : *c;
    }
    return -EINVAL;
}
