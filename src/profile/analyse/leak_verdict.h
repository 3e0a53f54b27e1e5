/*
 * Judges whether a stack leaks, from when its live blocks were allocated: the rules of
 * leak_score.h.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>

#include "profile/analyse/leak_score.h"

/* Comparisons with earlier dumps, at about 1/4, 1/2 and 3/4 of the time. */
#define HS_LEAK_CHECKS 3U

/* Of a stack, at one comparison. All zero: there is no earlier dump. */
struct hs_leak_check {
    struct hs_leak_amount old;  /* what lived at the earlier dump */
    struct hs_leak_amount left; /* of it, what still lives */
    struct hs_leak_amount new_; /* what lives and was allocated since */
    double hours;               /* that this took; 0: there is no earlier dump */
};

/* The comparisons of a stack. */
struct hs_leak_checks {
    struct hs_leak_check checks[HS_LEAK_CHECKS];
};

/* Sets verdict, confidence and growth of a row with eighths, live and alloc. `span_ms` is how long
 * the recording took. */
void hs_leak_judge(struct hs_leak_row *row, const struct hs_leak_checks *checks, double span_ms,
                   bool is_short);
