/*
 * Finding a place in a sorted list of addresses. What files list in any order (symbols, ranges,
 * lines of a perf map) is looked up in what was asked for, not the other way round.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Index of the first of the ascending pcs that is not below va; pc_count when all are. */
static inline size_t hs_pc_first(const uint64_t *pcs, size_t pc_count, uint64_t va)
{
    size_t low = 0, high = pc_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (pcs[mid] < va) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}
