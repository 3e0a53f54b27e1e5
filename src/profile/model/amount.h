/*
 * Amounts: how many bytes and objects, and how far off the estimate may be.
 *
 * Threads   pure functions.
 * See       margin.h, which computes confidence intervals.
 */
#pragma once

#include <stdbool.h>

/* Estimates with their variances. margin.h says which part is exact. */
struct hs_amount {
    double bytes;
    double count;
    double bytes_var;
    double count_var;
    double sampled_bytes; /* the part that rests on samples, see margin.h */
    double sampled_count;
    /*
     * bytes: the widest interval at which any part may have been sampled, times the number of
     * processes with shared samples (family.h) that are added up; 0 or 1: nothing was sampled
     */
    float interval_bytes;
    bool has_sample_counts; /* count is the number of samples, not an estimate of objects */
    /*
     * Errors of a sampled peak (peak_margin.h): by how much it may be too high in 97.5 % of runs
     * (excess) and in half of them (lean), and the standard error of the total (common). 0 for
     * other amounts. In a sum of amounts they are added.
     */
    float peak_excess_bytes, peak_lean_bytes, peak_common_bytes;
    float peak_short_bytes; /* the highest live total was at most so much above `bytes` */
};

/* Adds `more` to `sum`, as amounts whose samples are different ones: their variances are added. */
static inline void hs_amount_add(struct hs_amount *sum, const struct hs_amount *more)
{
    sum->bytes += more->bytes;
    sum->count += more->count;
    sum->bytes_var += more->bytes_var;
    sum->count_var += more->count_var;
    sum->sampled_bytes += more->sampled_bytes;
    sum->sampled_count += more->sampled_count;
    sum->interval_bytes =
        more->interval_bytes > sum->interval_bytes ? more->interval_bytes : sum->interval_bytes;
    sum->has_sample_counts |= more->has_sample_counts;
    sum->peak_excess_bytes += more->peak_excess_bytes;
    sum->peak_lean_bytes += more->peak_lean_bytes;
    sum->peak_common_bytes += more->peak_common_bytes;
    sum->peak_short_bytes += more->peak_short_bytes;
}

/* Raises the amount's interval to `interval_bytes`, at which blocks may have been missed. */
static inline void hs_amount_widen(struct hs_amount *amount, float interval_bytes)
{
    amount->interval_bytes =
        interval_bytes > amount->interval_bytes ? interval_bytes : amount->interval_bytes;
}

/*
 * The part of a forked process's variances that comes from the samples that it inherited from its
 * parent: see family.h.
 */
struct hs_inherited_var {
    float bytes;
    float count;
};
