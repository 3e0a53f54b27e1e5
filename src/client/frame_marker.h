/*
 * A mark in a stack frame: a call of ours is going on there.
 *
 * What we set before a step and take back after it may stay set for good: a signal handler that
 * came in between may leave by siglongjmp, an operator new may throw. So what we remember of such a
 * step is where it runs: the address of a mark in its frame. The mark is gone when another one is
 * about to be set at its place, when other calls have written over it, when its stack is no longer
 * there, or when this thread's own stack has been unwound past it.
 *
 * Holds     while the frame exists, its mark is never taken to be gone. Of a frame that was left, it
 *           is noticed sooner or later.
 * Threads   each its own; async-signal-safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rt/atomic.h"
#include "rt/base.h"

#define HS_FRAME_MARKER_KEY UINT64_C(0xa3c59ac3d1b54a35)

struct hs_frame_marker {
    uint64_t word; /* its own address ^ HS_FRAME_MARKER_KEY */
};

/* Of a mark that this thread set at `mark_va` some time ago. `sp`: where a new mark is going to be, or
 * an address in the running frame. */
bool hs_frame_marker_is_gone(uintptr_t mark_va, uintptr_t sp);

/* --- hot ------------------------------------------------------------------------------------- */

/* The address to remember. */
static inline uintptr_t hs_frame_marker_set(struct hs_frame_marker *mark)
{
    uintptr_t va = (uintptr_t)mark;
    hs_store_relaxed(&mark->word, va ^ HS_FRAME_MARKER_KEY);
    return va;
}
