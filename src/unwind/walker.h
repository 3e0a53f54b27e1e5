/*
 * A walk in progress: the state that unwind.c (the hot loop) and step.c (all other cases) share.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/regs.h"
#include "unwind/frame.h"
#include "unwind/reader.h"
#include "unwind/walk.h"

/* Places for frames, without the one that is left to the caller. */
#define HS_FRAMES_KEPT (HS_FRAMES_MAX - 1U)

/* Values of hs_walker.bp_va that are not addresses: */
#define HS_BP_IS_NOTED UINT64_C(0) /* the walk depends on `bp`, and has noted it */
#define HS_BP_IS_START UINT64_C(1) /* the start value, on which nothing depends yet */

/* A walk in progress. */
struct hs_walker {
    const struct hs_unwinder *unwinder;
    struct hs_walk *walk;
    struct hs_stack_reader reader;
    uint64_t generation;
    uint64_t pc;
    uint64_t sp;
    uint64_t bp;      /* unless it must be read at bp_va */
    uint64_t bp_va;   /* where bp was saved, or HS_BP_IS_* */
    uint32_t out_idx; /* next place in walk->frames */
    uint32_t count;   /* frames emitted: the number of the current one */
    uint32_t signal_count;
    bool is_exact; /* pc was interrupted */
    bool is_start_exact;
    bool is_guess; /* pc was found by following what may be a frame pointer */
    const struct hs_regs *start;
    uint32_t anchor_count;  /* the number of the frame that `anchor` describes */
    struct hs_frame anchor; /* the last frame with all registers known, if anchor_count > 0 */
};

/* Takes one frame further, in every case. False: that was the last frame, and walk->end says why.
 * (step.c) */
bool hs_walker_step(struct hs_walker *w);

/* Behind the last place, the places of the outer frames are reused as a ring. */
static inline void hs_walker_wrap(struct hs_walker *w)
{
    if (w->out_idx == HS_FRAMES_KEPT) {
        w->out_idx = HS_FRAMES_INNER;
    }
}
