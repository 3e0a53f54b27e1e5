/*
 * A thread's state: taking or making it, and saying in it that the thread is inside our code.
 *
 * Holds     hs_tls.self is NULL or owned by the running thread.
 * Threads   each thread has its own. A signal handler may interrupt its thread inside our code;
 *           hs_reentry_guard_enter then returns false.
 * Fails     hs_thread_self returns NULL without memory; the sample is then lost and counted.
 * See       tables/thread_state.h for the data.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/thread_state.h"
#include "client/thread/frame_marker.h"
#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/check.h"

/* Takes or makes this thread's state. Without memory there is none, and the next sample tries
 * again. */
void hs_thread_attach(void);

/* Gives all states counters and an identity in the new region. No other thread may be recording
 * meanwhile. */
void hs_thread_renew_all(void);

/* Is a thread taking or making its state at this moment? */
bool hs_thread_is_any_attaching(void);

/* In a forked child that has begun: `self` (NULL: it had none) is the state of the thread that
 * forked, and the only one that has an owner. */
void hs_thread_follow_fork(struct hs_thread *self);

/* Empties a thread's replay table. */
void hs_thread_forget_replay(struct hs_thread *thread);

/* The same for a thread that may be another one: also gives the table's pages back. */
void hs_thread_drop_replay(struct hs_thread *thread);

/* Replaces a replay table that is too small by a larger one, once for each thread, as long as this
 * process may have one more. */
void hs_thread_enlarge_replay(struct hs_thread *thread);

/* Reads the kernel's name of this thread, which may have changed, and reviews its record cache.
 * Only inside a guard. */
void hs_thread_refresh_name(struct hs_thread *thread);

/* --- hot -------------------------------------------------------------------------------------- */

/* This thread's state, which is taken or made if it has none. NULL without memory. */
static inline struct hs_thread *hs_thread_self(void)
{
    if (hs_unlikely(!hs_tls.self)) {
        hs_thread_attach();
    }
    HS_ASSERT(!hs_tls.self || hs_tls.self->tls == &hs_tls); /* no other thread owns it */
    return hs_tls.self;
}

/* Marks this thread as being inside our code, which it was not before. */
static inline void hs_reentry_guard_set(struct hs_frame_marker *mark)
{
    hs_tls.guard_va = hs_frame_marker_set(mark);
    hs_signal_fence();
}

/* Marks this thread as being inside our code. False: it is already (a signal handler came in
 * between). `mark` is in the caller's frame and must live until hs_reentry_guard_leave. */
static inline bool hs_reentry_guard_enter(struct hs_frame_marker *mark)
{
    const struct hs_tls *tls = &hs_tls;
    /* Done first, so that the marker can be told from those on other stacks. */
    hs_thread_self();
    if (hs_unlikely(tls->guard_va != 0) &&
        !hs_frame_marker_is_gone(tls->guard_va, (uintptr_t)mark)) {
        return false;
    }
    hs_reentry_guard_set(mark);
    return true;
}

/* Ends what hs_reentry_guard_enter or hs_reentry_guard_set began. */
static inline void hs_reentry_guard_leave(void)
{
    hs_signal_fence();
    HS_ASSERT(hs_frame_marker_is_set(hs_tls.guard_va)); /* its frame exists */
    hs_tls.guard_va = 0;
}
