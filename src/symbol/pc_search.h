/*
 * Searches a sorted list of addresses. Files list symbols, ranges and lines of a perf map in any
 * order; each of these is looked up among the wanted addresses, not the other way round.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The index of the first of the ascending pcs that is not below va; pc_count when all are. */
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
