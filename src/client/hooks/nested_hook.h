/*
 * Hooked functions that are called inside hooked functions: their block must be recorded only once.
 *
 * C++'s operator new mostly calls malloc. An allocator's calloc or realloc may call its own malloc
 * by name, which leads to our hook. A function's name does not tell whether it does so. The hooks
 * find out by observation: before a hook calls the real function, it moves the thread's countdown
 * to the reserve and sets left_bytes to 0. A hooked function that the real function calls must then
 * take the slow path, where hs_sampler_hit reports the call to hs_nested_hook_notice. There are two
 * modes:
 *
 *   - WATCH only notes the inner call. The hook of an operator that was found to call malloc leaves
 *     the recording to malloc's hook, and from then on costs one jump.
 *   - MUTE also keeps the inner call from being recorded; the hook of the outer function records
 *     the block. This is for C functions that were found to call other hooked functions, even if
 *     they do not at every call (a realloc in place does not). Each call of such a function must
 *     then take the slow path, or its block would be sampled twice.
 *
 * The allocation of a signal handler that runs meanwhile is noticed, too. Therefore a hook
 * concludes that its real function calls other hooked functions only if the returned block has been
 * recorded (hs_live_covers); for an operator, also after a number of calls in which something was
 * noticed. Inside a muted function the handler's allocation is muted, too.
 *
 * Holds     observations may be nested; a call that the inner one notices is noticed by the outer
 *           one, too. An observation that was left by an exception or a longjmp is recognized by
 *           its frame marker.
 * Threads   each thread has its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/region.h"
#include "client/thread/thread.h"
#include "rt/atomic.h"
#include "rt/check.h"

/* What a thread observes: bits of hs_tls.probe. */
enum hs_nested_hook_state {
    HS_NESTED_HOOK_NONE = 0,
    HS_NESTED_HOOK_WATCH = 1U << 0,
    HS_NESTED_HOOK_MUTE = 1U << 1,
    HS_NESTED_HOOK_SEEN = 1U << 2, /* a hooked function was called */
};

/* One observation; it lies in the frame of the function that observes. */
struct hs_nested_hook {
    struct hs_frame_marker mark;
    uintptr_t outer_va; /* the observation that this one interrupts, */
    uint8_t outer;      /* and its state */
    bool is_muting;
};

/* Begins an observation, before the real function is called. */
static inline void hs_nested_hook_begin(struct hs_nested_hook *probe, enum hs_nested_hook_state how)
{
    struct hs_tls *tls = &hs_tls;
    if (tls->probe != HS_NESTED_HOOK_NONE &&
        hs_frame_marker_is_gone(tls->probe_va, (uintptr_t)probe)) {
        tls->probe = HS_NESTED_HOOK_NONE;
    }
    probe->outer_va = tls->probe_va;
    probe->outer = tls->probe;
    HS_ASSERT(probe->outer == HS_NESTED_HOOK_NONE || probe->outer_va != (uintptr_t)&probe->mark);
    probe->is_muting = how == HS_NESTED_HOOK_MUTE;
    /* The countdown is moved to the reserve: no byte of the gap is lost. */
    uint64_t floor = hs_load_relaxed(&hs_control_page.control.floor_bytes);
    tls->reserve_bytes += tls->left_bytes > floor ? tls->left_bytes - floor : 0;
    tls->left_bytes = 0;
    tls->probe_va = hs_frame_marker_set(&probe->mark);
    hs_signal_fence();
    tls->probe = (uint8_t)(how | (probe->outer & HS_NESTED_HOOK_MUTE));
}

/* Ends an observation. True: a hooked function was called inside. */
static inline bool hs_nested_hook_end(const struct hs_nested_hook *probe)
{
    struct hs_tls *tls = &hs_tls;
    uint8_t seen = tls->probe & HS_NESTED_HOOK_SEEN;
    HS_ASSERT(hs_frame_marker_is_set((uintptr_t)&probe->mark));
    HS_ASSERT(probe->outer == HS_NESTED_HOOK_NONE || probe->outer_va != 0);
    hs_signal_fence();
    tls->probe =
        probe->outer == HS_NESTED_HOOK_NONE ? HS_NESTED_HOOK_NONE : (uint8_t)(probe->outer | seen);
    tls->probe_va = probe->outer_va;
    return seen != 0;
}

/* Called by a hooked function while an observation is going on; `sp`: an address in its frame.
 * True: the function is muted. */
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
