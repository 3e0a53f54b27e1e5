/*
 * The detail of a failure: see inject_session.h.
 */
#include "inject/inject_session.h"

#include <stdarg.h>
#include <stdio.h>

void hs_inject_session_say(struct hs_inject_session *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(s->result->detail, sizeof(s->result->detail), format, args);
    va_end(args);
    /* Text from the target may contain any byte. */
    for (char *c = s->result->detail; *c; c++) {
        *c = (unsigned char)*c < ' ' || *c == 127 ? '?' : *c;
    }
}
