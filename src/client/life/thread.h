/*
 * What the client keeps for a running thread.
 *
 * Static thread-local storage is scarce in a library that may be loaded late, so only what the hot
 * path touches lies there: one cache line. The rest (counters in the region, the replay table, free
 * lists, buffers for unwinding) is in `struct hs_thread`, which the thread takes at its first
 * sample. No destructor runs when a thread ends: a new thread that needs such a state takes over
 * that of a thread that has ended, with its counters and lists.
 *
 * Holds     hs_tls.self is NULL or owned by the running thread.
 * Threads   each thread has its own. A signal handler may interrupt its thread inside our code;
 *           hs_reentry_guard_enter tells.
 * Fails     hs_thread_self returns NULL without memory; the sample is then lost and counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/life/frame_marker.h"
#include "fmt/region_layout.h"
#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/check.h"
#include "unwind/replay.h"
#include "unwind/unwind.h"

#define HS_RECORD_NONE UINT32_MAX
#define HS_GAPS_AHEAD  32U

/* The record cache: entries for the records of a thread's latest blocks. See locate.h. */
#define HS_RECORD_CACHE_BITS 8U
/* An entry of the record cache. */
struct hs_cached_record {
    uint64_t addr;               /* of a block; 0: none */
    struct hs_record_v1 *record; /* its record, or one for the next block; NULL: none */
};

/* Records of one kind, linked through their `addr`. */
struct hs_record_list {
    uint32_t first; /* HS_RECORD_NONE: empty */
    uint32_t last;
    uint32_t count;
    uint64_t tag; /* the cut that needs them (tombstones) */
};

/* The state of a thread. */
struct hs_thread {
    /* What each sample needs: two cache lines. */
    struct hs_thread_block_v1 *block; /* counters, in the region */
    struct hs_record_list free_records;
    uint32_t name_countdown; /* samples until the thread's name is read again */
    uint32_t gap_count;      /* gaps drawn ahead for this interval: see sampler.c */
    uint32_t clock_ms;       /* the time when it last read the clock: see record.c */
    uint16_t thread_id;      /* in THREADS */
    /* The replay table is in use; still set at the next use: it was left half written. */
    bool is_replaying;
    bool is_replay_final; /* the replay table was enlarged, or cannot be */
    uint64_t stack_lo_va; /* verified readable part of this thread's own stack; */
    uint64_t stack_hi_va; /* see stackmem.h */
    struct hs_replay replay;
    uint64_t foreign_lo_va; /* pages near a stack pointer that was not on the thread's own stack */
    uint64_t foreign_hi_va;
    uint32_t fresh_first; /* records taken from the region, not yet used */
    uint32_t fresh_end;

    uint64_t gap_bytes[HS_GAPS_AHEAD];
    struct hs_record_list peak_dead;     /* tombstones of the peak */
    struct hs_record_list snapshot_dead; /* tombstones of an open snapshot only */
    struct hs_thread *next;              /* the list of all states; none is ever unlinked */
    struct hs_tls *tls;                  /* of its owner; gone when the owner is */
    uint32_t owner_tid;                  /* 0: free to take */
    uint32_t name_interval;
    /* Counts since the last review of `record_cache`: see locate.h. */
    uint32_t found_count;   /* blocks that other threads found there */
    uint32_t evicted_count; /* blocks that were evicted to the index */
    uint32_t rest_count;    /* reviews until the cache is used again; 0: it is used */
    struct hs_cached_record record_cache[1U << HS_RECORD_CACHE_BITS];
    struct hs_walk walk;
};

_Static_assert(offsetof(struct hs_thread, replay) == 64 &&
                   offsetof(struct hs_thread, gap_bytes) == 128,
               "two cache lines");

/* The part of a thread's state that the hot path reads. */
struct hs_tls {
    /* Countdown, relative to the control page's floor: see sampler.h. */
    uint64_t left_bytes;
    /* The part of the gap beyond left_bytes. */
    uint64_t reserve_bytes;
    uint64_t rng;
    struct hs_thread *self;
    uintptr_t guard_va;      /* not 0: the thread is inside our code; address of the frame marker */
    uint64_t interval_bytes; /* 0: record nothing */
    uint32_t generation;     /* of the settings that the countdown was made with */
    uint8_t interval_idx;
    uint8_t probe; /* enum hs_nested_hook_state: see nested_hook.h */
    uint16_t reserved;
    uintptr_t probe_va; /* address of its frame marker */
};

_Static_assert(sizeof(struct hs_tls) <= 64, "one cache line of static TLS");

/* The running thread's. */
extern HS_HIDDEN _Thread_local _Alignas(64) struct hs_tls hs_tls
    __attribute__((tls_model("initial-exec")));

/* Takes or makes this thread's state. Without memory there is none, and the next sample tries
 * again. */
void hs_thread_attach(void);

/* The first of all states that were ever made; the others follow by `next`. */
struct hs_thread *hs_thread_first(void);

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

/* Counts a lost sample for this thread, and what it stands for: bytes, and allocations with
 * HS_COUNT_SHIFT binary places. Any context. */
void hs_thread_count_loss(enum hs_loss loss, uint64_t bytes, uint64_t alloc_fx);

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
