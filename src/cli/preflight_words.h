/*
 * The text that says why a program cannot be run or profiled: for `run`, which refuses, and
 * `doctor`, which explains.
 *
 * Threads   no state.
 * See       collect/inspect/preflight.h
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "collect/inspect/preflight.h"

struct hs_preflight_words {
    char what[3 * PATH_MAX]; /* a sentence without its full stop */
    const char *remedy;      /* what to do, in the same form; NULL: none */
    int status;              /* the exit status of `run` */
};

/* Fills in the text. False: the program can be run and profiled. */
bool hs_preflight_words(const char *program, const struct hs_preflight *preflight,
                        struct hs_preflight_words *ret_words);
