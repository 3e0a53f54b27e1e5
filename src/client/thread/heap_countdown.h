/*
 * A thread's countdowns for heaps other than malloc's: each heap has an interval of its own, so it
 * has a countdown of its own in each thread that reports to it.
 *
 * Sampling is as described in hooks/sampler.h; countdown.h has the same for malloc's heap.
 *
 * Holds     while a heap is recorded, left_bytes - floor <= interval_bytes.
 * Threads   each thread has its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/region.h"
#include "client/tables/thread_state.h"

/* Makes the countdowns of a thread. False: no memory. */
bool hs_heap_countdown_make(struct hs_thread *thread);

/* Reads the heap's interval, and sets the countdown to a new gap. */
HS_COLD void hs_heap_countdown_pick_up(struct hs_thread *thread, uint8_t heap_id, uint64_t floor);

/* Has the countdown run out, and not merely the floor been raised? As is_due in sampler.c. */
bool hs_heap_countdown_is_due(const struct hs_heap_countdown *countdown, uint64_t floor,
                              uint64_t size_bytes);

/* Counts down an allocation smaller than the interval. Returns the number of its hits. */
uint32_t hs_heap_countdown_hits(struct hs_heap_countdown *countdown, uint64_t floor,
                                uint64_t size_bytes);

/* In a forked child: the countdowns of its one thread draw other gaps than its parent's. */
void hs_heap_countdown_follow_fork(void);

/* --- hot -------------------------------------------------------------------------------------- */

/* Counts down an allocation that is not recorded. False: it may have to be, and nothing was
 * counted. */
static inline bool hs_heap_countdown_drop(struct hs_heap_countdown *countdown, uint64_t size_bytes)
{
    uint64_t left;
    if (hs_unlikely(__builtin_sub_overflow(countdown->left_bytes, size_bytes, &left)) ||
        hs_unlikely(left <= hs_load_relaxed(&hs_control_page.control.floor_bytes))) {
        return false;
    }
    countdown->left_bytes = left;
    return true;
}
