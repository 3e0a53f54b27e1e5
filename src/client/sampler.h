/*
 * Sampler: which allocations do we keep?
 *
 * Each allocated byte is kept with probability 1/interval_bytes; an allocation is kept when any of
 * its bytes is. Nothing is flipped per byte: we draw the distance to the next kept byte and count
 * down, so a dropped allocation costs one subtraction and a branch. An allocation of at least the
 * interval is kept anyway, with its exact size, and does not touch the countdown; a smaller one that
 * is hit n times weighs n * interval.
 *
 * The countdown starts from a floor in the control page: left_bytes = floor + bytes to go. A
 * collector that changes a setting raises the floor by more than any countdown, and so sends every
 * thread through the slow path at its next allocation, where it picks up the new setting; without
 * signals, and at no cost. Example: floor 0, a thread has 700 left. The floor becomes 2^42: the next
 * malloc(16) finds 684 <= 2^42, reads the new interval 512, draws 900, and leaves 2^42 + 512 in
 * left_bytes and 388 in reserve_bytes.
 *
 * Holds     left_bytes - floor <= interval_bytes, so that an allocation of the interval or more never
 *           passes as a dropped one; the rest of a longer gap waits in reserve_bytes. A zeroed
 *           thread takes the slow path at once.
 * Threads   each its own countdown, no atomics.
 * See       docs/SAMPLING.md for weights, counts and errors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/lifecycle.h"
#include "client/nested_hook.h"
#include "client/region.h"
#include "client/thread.h"

/* A gap that is as good as never reached, 2 TiB: recording is off. Below the step of the floor, above any interval. */
#define HS_SAMPLER_NEVER (UINT64_C(1) << 41)

/* A forked child of a dormant process that has allocated so much is one that stays, rather than one that
 * executes another program: it announces itself. */
#define HS_SAMPLER_SETTLED_BYTES UINT64_C(65536)

struct hs_sample {
    uint32_t hits; /* 0: exact */
    uint32_t interval_idx;
    uint64_t interval_bytes;
};

/* Seed of this process; threads and forked children derive theirs from it, by their numbers. */
void hs_sampler_seed(uint64_t seed);

/* In a process that is about to fork: counts the fork. */
void hs_sampler_prepare_fork(void);

/* In a forked child: from now on it draws other numbers than its parent and its siblings, also where the thread
 * that forked had drawn none. */
void hs_sampler_follow_fork(void);

/* Cold half: is an allocation of this size kept, now that the countdown has run out (or may have)? */
bool hs_sampler_hit(size_t size_bytes, struct hs_sample *ret_sample);

/* --- hot ------------------------------------------------------------------------------------- */

/* True: dropped, and counted down. False: ask hs_sampler_hit; nothing was counted. */
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

/* hs_sampler_hit for the simplest case: an allocation of at least the interval, and nothing to look
 * after. False: ask the other. */
static inline __attribute__((always_inline)) bool hs_sampler_is_exact(size_t size_bytes,
                                                                      struct hs_sample *ret_sample)
{
    const struct hs_tls *tls = &hs_tls;
    /* Without one (0) none is large enough. */
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
