/*
 * A marker in a stack frame: it says that a call of ours is in progress there.
 *
 * A flag that is set before a step and cleared after it may stay set for good: a signal handler
 * that came in between may leave by siglongjmp, or an operator new may throw. So for such a step
 * the client remembers the address of a marker in the step's own stack frame. The marker counts as
 * gone when another one is about to be set at its place, when other calls have overwritten it, when
 * its stack does not exist any more, or when this thread's own stack has been unwound past it.
 *
 * Ensures   while the frame exists, its marker never counts as gone. After the frame was left, its
 *           marker counts as gone sooner or later.
 * Threads   each thread has its own; async-signal-safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rt/atomic.h"
#include "rt/base.h"

#define HS_FRAME_MARKER_KEY UINT64_C(0xa3c59ac3d1b54a35)

/* Lies in the frame that it marks. */
struct hs_frame_marker {
    uint64_t word; /* its own address ^ HS_FRAME_MARKER_KEY */
};

/* Is the marker gone that this thread set at `mark_va` earlier? `sp`: where a new marker is going
 * to be, or an address in the running frame. */
bool hs_frame_marker_is_gone(uintptr_t mark_va, uintptr_t sp);

/* For assertions: does a marker stand at `mark_va`, in a frame that exists? */
static inline bool hs_frame_marker_is_set(uintptr_t mark_va)
{
    return mark_va != 0 &&
           hs_load_relaxed((const uint64_t *)mark_va) == (mark_va ^ HS_FRAME_MARKER_KEY);
}

/* --- hot -------------------------------------------------------------------------------------- */

/* Sets a marker and returns its address, to be remembered. */
static inline uintptr_t hs_frame_marker_set(struct hs_frame_marker *mark)
{
    uintptr_t va = (uintptr_t)mark;
    hs_store_relaxed(&mark->word, va ^ HS_FRAME_MARKER_KEY);
    return va;
}
