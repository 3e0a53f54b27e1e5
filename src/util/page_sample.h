/*
 * A choice of pages, for work that is too much for all of them: by the page's number, so that all
 * callers choose the same.
 *
 * Pages are chosen in clusters of 16, because reading many pages in a row takes less time than
 * reading as many alone. Of each 2^shift clusters in a row, aligned to their number, exactly one is
 * chosen, at random: so the choice is spread evenly over any range. A choice with a higher shift is
 * part of one with a lower, because clusters meet in pairs, and those that were chosen in
 * neighbouring pairs meet again:
 *
 *     cluster    0   1   2   3   4   5   6   7
 *     shift 1        1   2           5       7
 *     shift 2            2           5
 *
 * Threads   no state.
 * Fails     never.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rt/bits.h"

#define HS_PAGE_SAMPLE_SHIFT_MAX     16U
#define HS_PAGE_SAMPLE_CLUSTER_SHIFT 4U
#define HS_PAGE_SAMPLE_CLUSTER_PAGES (1U << HS_PAGE_SAMPLE_CLUSTER_SHIFT)

/* Which half of a pair of 2^level clusters each is chosen: 0 or 1. */
static inline uint64_t hs_page_sample_half(uint64_t pair, unsigned level)
{
    return hs_mix64(pair * 64 + level) & 1;
}

/* Is the page with this number chosen? */
static inline bool hs_page_is_sampled(uint64_t page, unsigned shift)
{
    uint64_t cluster = page >> HS_PAGE_SAMPLE_CLUSTER_SHIFT;
    for (unsigned level = 0; level < shift; level++) {
        if ((cluster >> level & 1) != hs_page_sample_half(cluster >> (level + 1), level)) {
            return false;
        }
    }
    return true;
}

/* The first page of the first cluster that is chosen and does not end before `page`. */
static inline uint64_t hs_page_sample_next(uint64_t page, unsigned shift)
{
    uint64_t cluster = page >> HS_PAGE_SAMPLE_CLUSTER_SHIFT;
    for (uint64_t group = cluster >> shift;; group++) {
        uint64_t chosen = group;
        for (unsigned level = shift; level-- > 0;) {
            chosen = 2 * chosen + hs_page_sample_half(chosen, level);
        }
        if (chosen >= cluster) {
            return chosen << HS_PAGE_SAMPLE_CLUSTER_SHIFT;
        }
    }
}

/* Is one of the pages of [start_va, end_va) chosen? Always of a long range, so that the answer
 * takes no time. */
static inline bool hs_pages_are_sampled(uint64_t start_va, uint64_t end_va, unsigned shift)
{
    uint64_t page = start_va >> 12, last = (end_va - 1) >> 12;
    return shift == 0 || last - page >= HS_PAGE_SAMPLE_CLUSTER_PAGES ||
           hs_page_is_sampled(page, shift) || hs_page_is_sampled(last, shift);
}
