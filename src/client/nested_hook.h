/*
 * Hooked functions inside hooked functions: a block must be recorded once.
 *
 * C++'s operator new mostly calls malloc; an allocator's calloc or realloc may call its own malloc by
 * name, which leads to our hook. Names tell nothing, so we look. While a real function runs, the
 * countdown is put aside, so that a hooked function inside it must take the slow path, and
 * hs_sampler_hit reports here. Two ways to look:
 *
 *   WATCH   only notes it. An operator that has malloc inside leaves the recording to it, and costs a
 *           jump from then on.
 *   MUTE    also keeps what is inside from being recorded; the outer function does that. For C
 *           functions that were found to call others, now and then perhaps (a realloc in place does
 *           not). Each call must then come this way, or it would be sampled twice.
 *
 * A signal handler that allocates is seen as well. It is not the function that called malloc, as the
 * block shows, which is not recorded then (hs_live_covers). Only inside a muted function it is muted too.
 *
 * Holds     nested looks are told apart, and what an inner one sees the outer one sees. One that was
 *           left by an exception or a longjmp is noticed by its mark.
 * Threads   each its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/region.h"
#include "client/thread.h"
#include "rt/atomic.h"

enum hs_nested_hook_state {
    HS_NESTED_HOOK_NONE = 0,
    HS_NESTED_HOOK_WATCH = 1U << 0,
    HS_NESTED_HOOK_MUTE = 1U << 1,
    HS_NESTED_HOOK_SEEN = 1U << 2, /* a hooked function was called */
};

/* In the frame of who looks. */
struct hs_nested_hook {
    struct hs_frame_marker mark;
    uintptr_t outer_va; /* the look that this one interrupts, */
    uint8_t outer;      /* and its state */
    bool is_muting;
};

static inline void hs_nested_hook_begin(struct hs_nested_hook *probe, enum hs_nested_hook_state how)
{
    struct hs_tls *tls = &hs_tls;
    if (tls->probe != HS_NESTED_HOOK_NONE &&
        hs_frame_marker_is_gone(tls->probe_va, (uintptr_t)probe)) {
        tls->probe = HS_NESTED_HOOK_NONE;
    }
    probe->outer_va = tls->probe_va;
    probe->outer = tls->probe;
    probe->is_muting = how == HS_NESTED_HOOK_MUTE;
    /* Nothing is left of the countdown, but nothing of the gap is lost. */
    uint64_t floor = hs_load_relaxed(&hs_control_page.control.floor_bytes);
    tls->reserve_bytes += tls->left_bytes > floor ? tls->left_bytes - floor : 0;
    tls->left_bytes = 0;
    tls->probe_va = hs_frame_marker_set(&probe->mark);
    hs_signal_fence();
    tls->probe = (uint8_t)(how | (probe->outer & HS_NESTED_HOOK_MUTE));
}

/* True: a hooked function was called inside. */
static inline bool hs_nested_hook_end(const struct hs_nested_hook *probe)
{
    struct hs_tls *tls = &hs_tls;
    uint8_t seen = tls->probe & HS_NESTED_HOOK_SEEN;
    hs_signal_fence();
    tls->probe =
        probe->outer == HS_NESTED_HOOK_NONE ? HS_NESTED_HOOK_NONE : (uint8_t)(probe->outer | seen);
    tls->probe_va = probe->outer_va;
    return seen != 0;
}

/* A hooked function was called while somebody looks. True: it is to be kept quiet. */
static inline bool hs_nested_hook_notice(uintptr_t sp)
{
    struct hs_tls *tls = &hs_tls;
    if (tls->probe & HS_NESTED_HOOK_MUTE && hs_frame_marker_is_gone(tls->probe_va, sp)) {
        tls->probe = HS_NESTED_HOOK_NONE;
        return false;
    }
    tls->probe |= HS_NESTED_HOOK_SEEN;
    return (tls->probe & HS_NESTED_HOOK_MUTE) != 0;
}
