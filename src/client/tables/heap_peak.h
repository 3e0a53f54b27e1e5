/*
 * The live total and the peak of a carved heap. The idea is that of peak.h, with a cut of the
 * heap's own.
 *
 * The heap's total is one word that all threads change: such heaps report less often than malloc.
 * A record that dies while the heap's peak needs it waits on a list of its heap (a tombstone), and
 * is free when the heap has a higher peak.
 *
 * Threads   any; lock-free. If another thread is taking the heap's cut, a thread does nothing.
 * See       peak.h; "Cuts" in fmt/region_layout.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/heaps.h"
#include "client/tables/shared.h"
#include "client/tables/thread_state.h"

/* Takes the cut of the heap's peak: the present total exceeds the last one. `thread` NULL: called
 * inside our own code; the total is only noted. */
void hs_heap_peak_mark(struct hs_thread *thread, uint8_t heap_id);

/* Keeps a dead record that the heap's peak needs. */
void hs_heap_peak_bury(uint8_t heap_id, uint32_t record_id);

/* Empties the lists of all heaps, because their records belong to another region. */
void hs_heap_peak_forget_all(void);

/* Is the heap a carved one? */
static inline bool hs_heap_peak_is_own(const struct hs_heap_v2 *heap)
{
    return (hs_load_relaxed(&heap->flags) & HS_HEAP_CARVED) != 0;
}

/* Adds the weight of a block that was born, or subtracts that of one that died. */
static inline void hs_heap_peak_add(struct hs_heap_v2 *heap, int64_t weight_bytes)
{
    hs_shared_add((uint64_t *)&heap->live_bytes, (uint64_t)weight_bytes);
}

/* Called before a block dies. */
static inline void hs_heap_peak_before_free(struct hs_thread *thread, uint8_t heap_id,
                                            const struct hs_heap_v2 *heap)
{
    if (hs_load_relaxed(&heap->live_bytes) > hs_load_relaxed(&heap->peak_bytes)) {
        hs_heap_peak_mark(thread, heap_id);
    }
}
