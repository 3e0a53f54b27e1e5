/*
 * A choice of pages, for work that is too much for all of them: one page in 2^shift, by its number,
 * so that all callers choose the same. A choice with a higher shift is part of one with a lower.
 *
 * Threads   no state.
 * Fails     never.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rt/bits.h"

#define HS_PAGE_SAMPLE_SHIFT_MAX 16U

/* Is the page with this number chosen? */
static inline bool hs_page_is_sampled(uint64_t page, unsigned shift)
{
    return shift == 0 || (hs_mix64(page) & ((UINT64_C(1) << shift) - 1)) == 0;
}

/* Is one of the pages of [start_va, end_va) chosen? Always of a long range, so that the answer
 * takes no time. */
static inline bool hs_pages_are_sampled(uint64_t start_va, uint64_t end_va, unsigned shift)
{
    uint64_t page = start_va >> 12, last = (end_va - 1) >> 12;
    if (shift == 0 || last - page >= 16) {
        return true;
    }
    for (; page <= last; page++) {
        if (hs_page_is_sampled(page, shift)) {
            return true;
        }
    }
    return false;
}
