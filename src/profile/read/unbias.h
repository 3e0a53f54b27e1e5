/*
 * Converts sampled figures into what they stand for, as the tools of the recorders do.
 *
 * jemalloc and gperftools write the samples themselves: n blocks of s bytes together. What they
 * stand for depends on how likely a block of that size was to be sampled:
 *
 *   v2   bytes are hit by a Poisson process, one in `interval` on average: a block of s / n bytes
 *        is hit with p = 1 - exp(-(s / n) / interval), and stands for 1 / p blocks
 *   v1   p = (s / n) / interval, at most 1
 *   all  every block was recorded: p = 1
 *
 * The variance of n blocks that each stand for c = 1 / p blocks is n c (c - 1) blocks. The variance
 * of bytes is that times the square of the block size. Both assume that the n blocks have equal
 * sizes.
 *
 * Holds     every result is finite; n blocks of 0 bytes stand for themselves.
 * Threads   pure functions.
 * See       docs/FORMAT.md, docs/SAMPLING.md
 */
#pragma once

#include <stdint.h>

#include "profile/model/profile.h"

enum hs_unbias_rule {
    HS_UNBIAS_ALL,
    HS_UNBIAS_V1,
    HS_UNBIAS_V2,
};

/* What `count` sampled blocks of together `bytes` bytes stand for, with variances. */
struct hs_amount hs_unbias(enum hs_unbias_rule rule, uint64_t interval_bytes, uint64_t count,
                           uint64_t bytes);

/* Adds variances to a figure that is scaled already. Its signs are kept; no variance is below 0. */
void hs_unbias_vary(struct hs_amount *amount, uint64_t interval_bytes);
