/*
 * The totals of a stack in a region, and what they say.
 *
 * Trust     the target may have written anything into them: variances are bounded.
 * Threads   each word is loaded once, because the target may go on writing.
 */
#pragma once

#include <stdint.h>

#include "fmt/region_layout.h"
#include "rt/atomic.h"
#include "rt/bits.h"
#include "trace/snapshot.h"

#define HS_COUNT_VAR_MAX 1e30

/* Loads each word once: the target may go on writing. */
static inline struct hs_totals_v1 hs_totals_load(const struct hs_totals_v1 *from)
{
    return (struct hs_totals_v1){
        .exact_bytes = hs_load_relaxed(&from->exact_bytes),
        .exact_count = hs_load_relaxed(&from->exact_count),
        .sampled_bytes = hs_load_relaxed(&from->sampled_bytes),
        .sampled_count_fx = hs_load_relaxed(&from->sampled_count_fx),
        .sampled_count_var = hs_load_relaxed(&from->sampled_count_var),
    };
}

/* A variance from the region, where the target may have written anything. */
static inline double hs_totals_var_of_bits(uint64_t bits)
{
    double var = hs_double_of_bits(bits);
    return var >= 0 && var <= HS_COUNT_VAR_MAX ? var : 0;
}

static inline double hs_totals_count_var(const struct hs_totals_v1 *t)
{
    return hs_totals_var_of_bits(t->sampled_count_var);
}

static inline void hs_totals_add(struct hs_totals_v1 *to, const struct hs_totals_v1 *more)
{
    to->exact_bytes += more->exact_bytes;
    to->exact_count += more->exact_count;
    to->sampled_bytes += more->sampled_bytes;
    to->sampled_count_fx += more->sampled_count_fx;
    to->sampled_count_var = hs_double_bits(hs_totals_count_var(to) + hs_totals_count_var(more));
}

static inline struct hs_estimate hs_totals_estimate(const struct hs_totals_v1 *t,
                                                    uint64_t interval_bytes)
{
    const double one = (double)(1U << HS_COUNT_SHIFT);
    return (struct hs_estimate){
        .bytes = (double)t->exact_bytes + (double)t->sampled_bytes,
        .count = (double)t->exact_count + (double)t->sampled_count_fx / one,
        .bytes_var = (double)t->sampled_bytes * (double)interval_bytes,
        .count_var = hs_totals_count_var(t),
    };
}
