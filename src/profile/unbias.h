/*
 * Sampled figures into what they stand for, as the tools of the recorders do it.
 *
 * jemalloc and gperftools write the samples themselves: n blocks of s bytes together that were hit. What
 * they stand for depends on how likely a block of that size was to be hit:
 *
 *   v2   bytes are hit by a Poisson process, one in `interval` on average: a block of s / n bytes is hit
 *        with p = 1 - exp(-(s / n) / interval), and stands for 1 / p blocks
 *   v1   p = (s / n) / interval, at most 1
 *   all  every block was recorded: p = 1
 *
 * The variance of n blocks that each stand for c = 1 / p is n c (c - 1) blocks; of bytes, that times
 * the square of their size. It is what the sizes would have to be the same for.
 *
 * Holds     no size gives a figure that is not finite; n blocks of no bytes stand for themselves.
 * Threads   pure functions.
 * See       docs/FORMAT.md, docs/SAMPLING.md
 */
#pragma once

#include <stdint.h>

#include "profile/profile.h"

enum hs_unbias_rule {
    HS_UNBIAS_ALL,
    HS_UNBIAS_V1,
    HS_UNBIAS_V2,
};

struct hs_amount hs_unbias(enum hs_unbias_rule rule, uint64_t interval_bytes, uint64_t count,
                           uint64_t bytes);

/* The other way: how sure is a figure that is scaled already? Its signs are kept, its variance is not below 0. */
void hs_unbias_vary(struct hs_amount *amount, uint64_t interval_bytes);
