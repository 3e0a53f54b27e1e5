/*
 * A thread's countdown to its next sample: how it is set, and when it begins anew.
 *
 * hooks/sampler.h explains it and counts it down. Here are the seeds from which threads draw, and
 * the two occasions on which a countdown begins anew: when a setting has changed, and in a forked
 * child.
 *
 * Holds     left_bytes - floor <= interval_bytes; what is left of a longer gap is in reserve_bytes.
 * Threads   each thread has its own; the numbers from which threads derive their seeds are shared.
 */
#pragma once

#include <stdint.h>

#include "client/tables/thread_state.h"
#include "rt/base.h"
#include "rt/check.h"

/* A gap that no thread reaches, 2 TiB: recording is off. It is smaller than the step of the floor
 * and larger than any interval. */
#define HS_COUNTDOWN_NEVER (UINT64_C(1) << 41)

/* A forked child of a dormant process that has allocated this much is taken for one that stays, and
 * not for one that soon executes another program: it announces itself to the collector. */
#define HS_COUNTDOWN_SETTLED_BYTES UINT64_C(65536)

/* Sets the seed of this process. Threads and forked children derive their seeds from it by their
 * numbers. */
void hs_countdown_seed(uint64_t seed);

/* Called in a process that is about to fork: counts the fork. */
void hs_countdown_note_fork(void);

/* Called in a forked child: from now on it draws other numbers than its parent and its siblings,
 * also when the thread that forked had not drawn any yet. */
void hs_countdown_follow_fork(void);

/* Takes over the current settings and begins a new gap. */
HS_COLD void hs_countdown_pick_up(uint64_t floor);

/* --- hot -------------------------------------------------------------------------------------- */

/* Floors are multiples of a step, and a countdown is shorter than a step. So left_bytes holds both
 * the floor that the countdown was made for and what remains of it, also when the floor has risen
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

/* Begins a gap. */
static inline void hs_countdown_set(struct hs_tls *tls, uint64_t floor, uint64_t gap)
{
    uint64_t now = gap < tls->interval_bytes ? gap : tls->interval_bytes;
    tls->left_bytes = floor + now;
    tls->reserve_bytes = gap - now;
    HS_ASSERT(tls->left_bytes - floor <= tls->interval_bytes);
    HS_ASSERT(now + tls->reserve_bytes == gap);
}

/* Counts down to nothing: recording is off. */
static inline void hs_countdown_sleep(struct hs_tls *tls, uint64_t floor)
{
    tls->left_bytes = floor + HS_COUNTDOWN_NEVER;
    tls->reserve_bytes = 0;
}
