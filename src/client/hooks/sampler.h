/*
 * The sampler: which allocations are recorded.
 *
 * Each allocated byte is chosen with probability 1/interval_bytes, and an allocation is recorded
 * when at least one of its bytes is chosen. Nothing is drawn per byte: the sampler draws the
 * distance to the next chosen byte and counts down. So nearly every allocation that is not recorded
 * costs one subtraction, one comparison, and two branches that are not taken. An allocation at
 * least as large as the interval is always recorded, with its exact size, and does not change the
 * countdown. A smaller one with n chosen bytes (n hits) is recorded with the weight n * interval.
 *
 * The countdown is relative to floor_bytes, a word of the control page (the first page of the
 * region) that the collector can raise: left_bytes = floor_bytes + bytes until the next chosen
 * byte. A collector that changes a setting raises the floor by more than any countdown can be. Each
 * thread then takes the slow path at its next allocation and reads the new setting there. This
 * needs no signal, and costs the hot path only the load of floor_bytes and the comparison with it.
 * Example: the floor is 0, and a thread has 700 bytes to go. The floor is raised to 2^42. The next
 * malloc(16) finds 684 <= 2^42, reads the new interval 512, draws the gap 900, counts its 16 bytes,
 * and leaves left_bytes at 2^42 + 512 and reserve_bytes at 372.
 *
 * Holds     while recording is on, left_bytes - floor <= interval_bytes, so that the hot path never
 *           skips an allocation as large as the interval. The rest of a longer gap waits in
 *           reserve_bytes. A thread whose state is all zero takes the slow path at its first
 *           allocation.
 * Threads   each thread has its own countdown; there are no atomic operations on it.
 * See       thread/countdown.h for seeds and settings, record.c for the steps that record a sample,
 *           docs/SAMPLING.md for weights, counts and errors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/hooks/nested_hook.h"
#include "client/life/lifecycle.h"
#include "client/tables/region.h"
#include "client/tables/thread_state.h"

/* What the sampler decided about one allocation that is to be recorded. */
struct hs_sample {
    uint32_t hits; /* chosen bytes; 0: recorded with its exact size */
    uint32_t interval_idx;
    uint64_t interval_bytes;
};

/* Slow path of hs_sampler_drop, for a countdown that has run out or may have: returns whether an
 * allocation of `size_bytes` is recorded. If necessary, it first reads new settings, starts
 * recording in a forked child, or makes a new region. *ret_sample may be written even if it returns
 * false. */
bool hs_sampler_hit(size_t size_bytes, struct hs_sample *ret_sample);

/* Whether this thread may use the present region. Another session needs another region, in which
 * each thread begins anew: it is made here. Not from inside our own code. */
bool hs_sampler_is_region_current(void);

/* May a block of a heap beside malloc's be recorded now? Begins what is due: a forked child's
 * region, another session's region, new settings. It calls no callback of the program. */
bool hs_sampler_is_ready(void);

/* --- hot -------------------------------------------------------------------------------------- */

/* Returns true if the allocation is not recorded; its size has been subtracted from the countdown.
 * Returns false if it may be recorded: nothing was subtracted, and the caller must call
 * hs_sampler_hit. */
static inline __attribute__((always_inline)) bool hs_sampler_drop(size_t size_bytes)
{
    uint64_t left;
    if (hs_unlikely(__builtin_sub_overflow(hs_tls.left_bytes, (uint64_t)size_bytes, &left)) ||
        hs_unlikely(left <= hs_load_relaxed(&hs_control_page.control.floor_bytes))) {
        return false;
    }
    hs_tls.left_bytes = left;
    return true;
}

/* hs_sampler_hit for the simplest case: an allocation of at least the interval, while no setting
 * has changed. False: the caller asks hs_sampler_hit. */
static inline __attribute__((always_inline)) bool hs_sampler_is_exact(size_t size_bytes,
                                                                      struct hs_sample *ret_sample)
{
    const struct hs_tls *tls = &hs_tls;
    /* While there is no interval (0), the difference wraps and no size is large enough. */
    if (tls->interval_bytes - 1 >= size_bytes || hs_unlikely(tls->probe != HS_NESTED_HOOK_NONE) ||
        hs_unlikely(tls->generation != hs_load_relaxed(&hs_control_page.control.generation)) ||
        hs_unlikely(!hs_lifecycle_is_on())) {
        return false;
    }
    ret_sample->interval_idx = tls->interval_idx;
    ret_sample->interval_bytes = tls->interval_bytes;
    ret_sample->hits = 0;
    return true;
}
