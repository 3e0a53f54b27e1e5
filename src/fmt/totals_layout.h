/*
 * Sums of recorded blocks, as the client keeps them in the region.
 *
 * Trust     as fmt/region_layout.h.
 */
#pragma once

#include <stdint.h>

/* Fixed-point fractions of estimated counts: 1 object = 1 << HS_COUNT_SHIFT. */
#define HS_COUNT_SHIFT 10

/* Exact and sampled parts are kept apart, because only the latter have an error: its variance in
 * bytes is interval_bytes * sampled_bytes. The variance of the count is up to (interval_bytes /
 * size)^2 for each sample; when the interval is large, no fixed-point number has room for that. */
struct hs_totals_v1 {
    uint64_t exact_bytes;
    uint64_t exact_count;
    uint64_t sampled_bytes;     /* weight: hits * interval */
    uint64_t sampled_count_fx;  /* sum of 1/p, p = 1 - e^(-size/interval); HS_COUNT_SHIFT */
    uint64_t sampled_count_var; /* sum of (1-p)/p^2: the bits of a double */
};
