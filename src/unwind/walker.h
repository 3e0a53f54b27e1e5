/*
 * A walk in progress: what unwind.c (the hot loop) and step.c (everything else) share.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "unwind/frame.h"
#include "unwind/reader.h"
#include "unwind/unwind.h"

/* Places for frames, without the one that is left to the caller. */
#define HS_FRAMES_KEPT (HS_FRAMES_MAX - 1U)

/* hs_walker.bp_va when it is no address: */
#define HS_BP_IS_NOTED UINT64_C(0) /* the walk depends on `bp`, and says so */
#define HS_BP_IS_START UINT64_C(1) /* the start value; nothing has depended on it yet */

struct hs_walker {
    const struct hs_unwinder *unwinder;
    struct hs_walk *walk;
    struct hs_stack_reader reader;
    uint64_t generation;
    uint64_t pc;
    uint64_t sp;
    uint64_t bp;      /* unless it is to be read at bp_va */
    uint64_t bp_va;   /* where bp was saved, or HS_BP_IS_* */
    uint32_t out_idx; /* next place in walk->frames */
    uint32_t count;   /* frames seen: the current one's number */
    uint32_t signal_count;
    bool is_exact; /* pc was interrupted */
    bool is_start_exact;
    bool is_guess; /* pc was found by following a frame pointer on the off chance */
    const struct hs_regs *start;
    uint32_t anchor_count;  /* the number of the frame that `anchor` is */
    struct hs_frame anchor; /* the last frame with all registers known, if anchor_count > 0 */
};

/* One frame, whatever it is. False: it was the last, and walk->end says why. (step.c) */
bool hs_walker_step(struct hs_walker *w);

/* Beyond the last place, the places of the outer frames are gone through in a ring. */
static inline void hs_walker_wrap(struct hs_walker *w)
{
    if (w->out_idx == HS_FRAMES_KEPT) {
        w->out_idx = HS_FRAMES_INNER;
    }
}
