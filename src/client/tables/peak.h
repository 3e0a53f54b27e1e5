/*
 * The live total and its highest value. See "The peak" in live.h for the idea.
 *
 * Threads   any. With more than one thread the total is kept in parts, one per thread, which are
 *           added to the shared total in quanta.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/region.h"
#include "client/tables/shared.h"
#include "client/tables/thread_state.h"

/* Takes the cut of the peak: marks the present moment if the live total exceeds the last peak. If
 * another thread is marking at this moment, this one does nothing. */
void hs_peak_mark(struct hs_thread *thread);

/* Adds this thread's part to the shared total. */
void hs_peak_flush(struct hs_thread *thread);

/* As hs_peak_before_free, for a free inside our own code (in a signal handler), where no cut can be
 * taken. Only notes the total, so that a lower peak is not called exact. */
void hs_peak_note(void);

/* Raises *value to `total` if it is lower. */
void hs_peak_raise(int64_t *value, int64_t total);

/* Takes a cut at this moment: writes its epoch, the total, and the time. One thread at a time for
 * each peak. */
void hs_peak_take_cut(uint64_t *peak_epoch, int64_t *peak_bytes, uint64_t *peak_time_ns,
                      int64_t total);

/* --- hot -------------------------------------------------------------------------------------- */

/* Adds the weight of a block that was born, or subtracts that of one that died. */
static inline void hs_peak_add(struct hs_thread *thread, int64_t weight_bytes)
{
    if (hs_shared_is_alone()) {
        hs_arch_local_add((uint64_t *)&hs_control_page.control.live_bytes, (uint64_t)weight_bytes);
        return;
    }
    int64_t part = thread->block->live_bytes + weight_bytes;
    hs_store_relaxed(&thread->block->live_bytes, part);
    int64_t quantum = hs_load_relaxed(&hs_control_page.control.peak_quantum_bytes);
    if (hs_unlikely(part > quantum || part < -quantum)) {
        hs_peak_flush(thread);
    }
}

/* Would a block that dies now end a rise to a new peak? */
static inline bool hs_peak_is_due(const struct hs_thread *thread)
{
    const struct hs_region_control_v1 *control = &hs_control_page.control;
    int64_t peak = hs_load_relaxed(&control->peak_bytes);
    int64_t total = hs_load_relaxed(&control->live_bytes) + thread->block->live_bytes;
    return total > peak;
}

/* Called before a block dies that this thread frees. */
static inline void hs_peak_before_free(struct hs_thread *thread)
{
    if (hs_unlikely(hs_peak_is_due(thread))) {
        hs_peak_mark(thread);
    }
}
