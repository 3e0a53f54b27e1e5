/*
 * How far off a figure may be: its 95 % confidence interval. Made here and nowhere else.
 *
 * A figure is an exact part (blocks of at least the interval) and a sampled part T with variance Var.
 * The interval is that of the score test for a Poisson count of k = T^2 / Var samples, scaled by T / k:
 *
 *     T (1 + z^2 / 2k -+ (z / sqrt k) sqrt(1 + z^2 / 4k)),   z = 1.96
 *
 * With many samples that is T -+ z sqrt(Var); with few it reaches further up than down, and never
 * below 0, hence never below the exact part. docs/SAMPLING.md derives it.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

struct hs_figure {
    double value;
    double sampled; /* part of it that rests on samples */
    double var;     /* of that part; 0: the figure is exact */
};

/* The truth lies between value - below and value + above. Both are 0 when the figure is exact. */
struct hs_margin {
    double below;
    double above;
};

struct hs_margin hs_margin_of(const struct hs_figure *figure);

/* Files tell variances, not which part is exact: finds it. Bytes: all but Var / interval. Objects: all,
 * if no bytes are exact; else the number that so many samples of one size would stand for, within what
 * the exact bytes allow. */
void hs_margin_split(struct hs_amount *amount, uint64_t interval_bytes);

static inline struct hs_figure hs_figure_of(const struct hs_amount *amount, bool is_count)
{
    return is_count ? (struct hs_figure){ amount->count, amount->sampled_count, amount->count_var }
                    : (struct hs_figure){ amount->bytes, amount->sampled_bytes, amount->bytes_var };
}

static inline void hs_figure_add(struct hs_figure *sum, const struct hs_figure *more)
{
    sum->value += more->value;
    sum->sampled += more->sampled;
    sum->var += more->var;
}
