/*
 * A filter in front of the blocks of heaps other than malloc's: "is certainly not recorded", for
 * nearly every block that is not.
 *
 * The ids of such blocks may be any numbers, so a bit for each address (filter.h) does not serve.
 * Instead, a million counters of a byte each count the recorded blocks by a part of their hash. A
 * counter that has reached 255 stays there. Only the pages that were touched take memory. With
 * 40,000 recorded blocks, one look-up in 26 finds a counter that is another block's; with 65,536
 * counters nearly every second one would, and a report would take 12 ns instead of 4.
 *
 * Ensures   the counter of a recorded block is not 0, from before the block is published until
 *           after it was removed.
 * Threads   any; lock-free; async-signal-safe. An abandoned operation leaves a counter too high.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rt/atomic.h"
#include "rt/base.h"

#define HS_HEAP_FILTER_BITS  20U
#define HS_HEAP_FILTER_BYTES (1U << HS_HEAP_FILTER_BITS)
#define HS_HEAP_FILTER_FULL  255U

/* The counters. They are mapped when the first heap is added: a program may be short of memory for
 * its data. Until then there is one counter, which is 0. */
struct hs_heap_filter {
    uint8_t *counters;
    uint64_t shift; /* a hash of 32 bits shifted right by this is a counter's number */
};

extern HS_HIDDEN struct hs_heap_filter hs_heap_filter;

/* The hash of a block. */
static inline uint32_t hs_heap_hash(uint8_t heap_id, uint64_t id)
{
    uint64_t key = id + heap_id * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)((key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* The counter of a hash. */
static inline uint8_t *hs_heap_filter_at(uint32_t hash)
{
    /* ORDER heap-filter: the counters that belong to this shift. With the old shift the number is
     * 0. */
    uint64_t shift = hs_load_acquire(&hs_heap_filter.shift);
    return hs_load_relaxed(&hs_heap_filter.counters) + ((uint64_t)hash >> shift);
}

/* May a block with this hash be recorded? */
static inline bool hs_heap_filter_test(uint32_t hash)
{
    return hs_load_relaxed(hs_heap_filter_at(hash)) != 0;
}

/* Adds 1 or -1, unless the counter is full. */
static inline void hs_heap_filter_add(uint32_t hash, int change)
{
    uint8_t *counter = hs_heap_filter_at(hash);
    uint8_t old = hs_load_relaxed(counter);
    while (old != HS_HEAP_FILTER_FULL && (change > 0 || old != 0) &&
           !hs_cas_relaxed(counter, &old, (uint8_t)(old + change))) {
    }
}
