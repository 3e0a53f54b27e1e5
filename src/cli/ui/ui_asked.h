/*
 * What the page asks of a recording that runs, as JSON:
 *
 *     { "session": "attach.4711" }
 *     { "pid": 4711, "blocks": true, "moment": true }
 *
 * Trust     the text is foreign input: other keys, and values of other kinds, are refused.
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "session/session.h"

struct hs_ui_asked {
    char session[HS_SESSION_NAME_MAX + 1]; /* "": not given */
    int pid;                               /* 0: not given */
    bool with_blocks, is_moment;
};

/* Reads it. False: the text is not such an object; then *ret_asked is unchanged. */
bool hs_ui_asked_read(const char *text, size_t bytes, struct hs_ui_asked *ret_asked);
