/*
 * A thread's countdown to its next sample: how it is set, and when it is set again.
 *
 * hooks/sampler.h explains the countdown and counts it down. This file has the seeds of the random
 * numbers that threads draw, and the two occasions on which a countdown is set again: when a
 * setting has changed, and in a forked child.
 *
 * Holds     while recording is on, left_bytes - floor <= interval_bytes; the rest of a longer gap
 *           is in reserve_bytes.
 * Threads   each thread has its own; the numbers from which threads derive their seeds are shared.
 */
#pragma once

#include <stdint.h>

#include "client/tables/thread_state.h"
#include "rt/base.h"
#include "rt/check.h"

/* The gap while recording is off: 2 TiB, more than a thread ever allocates. It is smaller than the
 * step of the floor and larger than any interval. */
#define HS_COUNTDOWN_NEVER (UINT64_C(1) << 41)

/* A forked child of a dormant process that has allocated this much probably does not execute
 * another program soon: it announces itself to the collector. */
#define HS_COUNTDOWN_SETTLED_BYTES UINT64_C(65536)

/* Sets the seed of this process. The seeds of threads and forked children are computed from it and
 * from their number. */
void hs_countdown_seed(uint64_t seed);

/* Called in a process that is about to fork: counts the fork. */
void hs_countdown_note_fork(void);

/* Called in a forked child: from now on it draws other numbers than its parent and its siblings,
 * even if the thread that forked had not drawn any yet. */
void hs_countdown_follow_fork(void);

/* Reads the current settings, and sets the countdown to a new gap. */
HS_COLD void hs_countdown_pick_up(uint64_t floor);

/* --- hot -------------------------------------------------------------------------------------- */

/* Floors are multiples of a step, and a countdown is shorter than a step. So left_bytes holds both
 * the floor that the countdown was set for and what remains of it, even if the floor has risen
 * since. */
static inline uint64_t hs_countdown_floor(const struct hs_tls *tls)
{
    return tls->left_bytes & ~(HS_FLOOR_STEP - 1);
}

/* What remains of the gap. */
static inline uint64_t hs_countdown_bytes(const struct hs_tls *tls)
{
    return (tls->left_bytes & (HS_FLOOR_STEP - 1)) + tls->reserve_bytes;
}

/* Sets the countdown to `gap` bytes. */
static inline void hs_countdown_set(struct hs_tls *tls, uint64_t floor, uint64_t gap)
{
    uint64_t now = gap < tls->interval_bytes ? gap : tls->interval_bytes;
    tls->left_bytes = floor + now;
    tls->reserve_bytes = gap - now;
    HS_ASSERT(tls->left_bytes - floor <= tls->interval_bytes);
    HS_ASSERT(now + tls->reserve_bytes == gap);
}

/* Sets the countdown of a thread while recording is off. */
static inline void hs_countdown_sleep(struct hs_tls *tls, uint64_t floor)
{
    tls->left_bytes = floor + HS_COUNTDOWN_NEVER;
    tls->reserve_bytes = 0;
}
