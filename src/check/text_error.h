/*
 * A mistake in a hand-written text, and its line: for messages of the form "FILE:LINE: message".
 *
 * Threads   no state.
 */
#pragma once

#include "rt/base.h"

/* A larger file is not one of limits or suppressions. */
#define HS_CHECK_TEXT_BYTES_MAX (1U << 20)

struct hs_text_error {
    unsigned line;  /* 1-based */
    char text[256]; /* one line, no full stop */
};

/* Sets the error. Returns -EINVAL, so that the caller can return it. */
HS_PRINTF(3, 4)
int hs_text_error_set(struct hs_text_error *error, unsigned line, const char *format, ...);
