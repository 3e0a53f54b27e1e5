/*
 * A series of figures, and the line through it. trend.h describes the computation.
 *
 * Threads   one user.
 */
#pragma once

#include <stdint.h>

#include "profile/model/margin.h"

#define HS_TREND_DUMPS_MIN 3

enum hs_trend_verdict {
    HS_TREND_GROWS,
    HS_TREND_SHRINKS,
    HS_TREND_NOISE,
    HS_TREND_SAME, /* equal in each snapshot */
    HS_TREND_VERDICT_N,
};

extern const char *const hs_trend_verdict_names[HS_TREND_VERDICT_N];

struct hs_trend_line {
    double first, last;
    double slope, margin; /* per second: the true slope lies in slope -+ margin */
    uint32_t steps_up, steps_down;
    enum hs_trend_verdict verdict;
};

/* The factors with which a snapshot counts. */
struct hs_trend_weight {
    double slope; /* c_k */
    double rest;  /* c_k + c_k+1 + ... */
};

struct hs_trend_axis {
    struct hs_trend_weight *weights;
    uint32_t count;
    double spread;              /* sum of (t - mean)^2 */
    double slope_max, rest_max; /* the largest absolute values of the weights */
};

struct hs_trend_series {
    double first, last, last_var;
    double sum, sum_squares, slope; /* sums over the differences from the first figure */
    double turnover_var, leak_var;
    double weight; /* the most that one sample of the series stands for */
    uint32_t steps_up, steps_down;
};

/*
 * Computes the factors of all snapshots. -ENODATA when there are too few snapshots, or all are at
 * one time; -ENOMEM. The caller frees `weights`.
 */
int hs_trend_axis_init(const double *seconds, uint32_t count, struct hs_trend_axis *ret_axis);

/*
 * Adds the figure of snapshot k to a series. Figures of 0 before the first other figure need not be
 * added.
 */
void hs_trend_series_put(struct hs_trend_series *series, const struct hs_trend_axis *axis,
                         uint32_t k, const struct hs_figure *figure);
/* The line through the series. */
struct hs_trend_line hs_trend_series_line(const struct hs_trend_series *series,
                                          const struct hs_trend_axis *axis);
