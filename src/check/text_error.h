/*
 * What is wrong with a text that somebody wrote by hand, and where: for "FILE:LINE: words".
 *
 * Threads   no state.
 */
#pragma once

#include "rt/base.h"

/* A file of limits or suppressions beyond this is none. */
#define HS_CHECK_TEXT_BYTES_MAX (1U << 20)

struct hs_text_error {
    unsigned line;  /* 1-based */
    char text[256]; /* one line, no full stop */
};

/* Always -EINVAL, to be returned. */
HS_PRINTF(3, 4)
int hs_text_error_set(struct hs_text_error *error, unsigned line, const char *format, ...);
