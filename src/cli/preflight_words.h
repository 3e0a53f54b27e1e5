/*
 * Why a program cannot be run or profiled, in words: for `run`, which refuses, and `doctor`, which explains.
 *
 * Threads   no state.
 * See       collect/preflight.h
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "collect/preflight.h"

struct hs_preflight_words {
    char what[3 * PATH_MAX]; /* a clause */
    const char *remedy;      /* another; NULL when there is none */
    int status;              /* the exit status of `run` */
};

/* False: nothing is against it. */
bool hs_preflight_words(const char *program, const struct hs_preflight *preflight,
                        struct hs_preflight_words *ret_words);
