/*
 * One series of figures, and the line through it. See trend.h, which says how.
 *
 * Threads   one user.
 */
#pragma once

#include "profile/margin.h"
#include "profile/trend.h"

/* What a snapshot counts with. */
struct hs_trend_weight {
    double slope; /* c_k */
    double rest;  /* c_k + c_k+1 + ... */
};

struct hs_trend_axis {
    struct hs_trend_weight *weights;
    uint32_t count;
    double spread;              /* sum of (t - mean)^2 */
    double slope_max, rest_max; /* of the weights, without their signs */
};

struct hs_trend_series {
    double first, last, last_var;
    double sum, sum_squares, slope; /* of what is above the first one */
    double turnover_var, leak_var;
    double weight; /* the most that one sample of it stands for */
    uint32_t steps_up, steps_down;
};

/* -ENODATA when there are too few, or all at one time; -ENOMEM. weights are to be freed. */
int hs_trend_axis_init(const double *seconds, uint32_t count, struct hs_trend_axis *ret_axis);

/* Snapshot k of a series; one that is new begins with zeros, which need not be put. */
void hs_trend_series_put(struct hs_trend_series *series, const struct hs_trend_axis *axis,
                         uint32_t k, const struct hs_figure *figure);
struct hs_trend_line hs_trend_series_line(const struct hs_trend_series *series,
                                          const struct hs_trend_axis *axis);
