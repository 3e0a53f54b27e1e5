/*
 * What a recorded block stands for, from its size and how it was sampled.
 *
 * A block is sampled with the probability p = 1 - e^(-size/interval), and stands for 1/p blocks. In
 * bytes it stands for `hits` intervals: so often the countdown reached 0 within the block.
 *
 * Threads   pure functions.
 * See       docs/SAMPLING.md
 */
#pragma once

#include <math.h>
#include <stdint.h>

/* 1/p and its variance. */
static inline void hs_block_weigh(uint64_t size_bytes, uint64_t interval_bytes, double *ret_count,
                                  double *ret_count_var)
{
    double p = -expm1(-(double)(size_bytes ? size_bytes : 1) / (double)interval_bytes);
    *ret_count = 1 / p;
    *ret_count_var = (1 - p) / (p * p);
}
