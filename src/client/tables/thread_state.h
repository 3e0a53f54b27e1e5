/*
 * What the client keeps for a running thread: the data. thread/thread.h has what a thread does with
 * it.
 *
 * Static thread-local storage is scarce in a library that may be loaded late, so only what the hot
 * path touches lies there: one cache line. The rest (counters in the region, the replay table, free
 * lists, buffers for unwinding) is in `struct hs_thread`, which the thread takes at its first
 * sample. No destructor runs when a thread ends: a new thread that needs such a state takes over
 * that of a thread that has ended, with its counters and lists.
 *
 * Ensures   hs_tls.self is NULL or owned by the running thread.
 * Threads   each thread has its own; any thread may walk the list of all states.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "client/host/readable_pages.h"
#include "fmt/region_layout.h"
#include "rt/base.h"
#include "unwind/replay.h"
#include "unwind/walk.h"

struct hs_combined_cache;
struct hs_python_cache;
struct hs_script_cache;
struct hs_vm_replay;

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

/* A thread's countdown to its next sample of one heap (not malloc's): as in struct hs_tls. */
struct hs_heap_countdown {
    uint64_t left_bytes;
    uint64_t reserve_bytes;
    uint64_t interval_bytes; /* 0: record nothing */
    uint32_t generation;     /* of the settings that the countdown was made with; 0: none */
    uint8_t interval_idx;
    uint8_t reserved[3];
};

/* The walk of a thread that meets Java frames: see thread/java_frames.c. */
struct hs_java_walk {
    uint64_t number; /* the thread's walk_count at its end */
    bool is_careful; /* it meets frames that are being made */
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
    /* Looked at together by each sample, which is an ordinary one if neither is set. */
    union {
        struct {
            /* The replay table is in use; still set at the next use: it was left half written. */
            bool is_replaying;
            /* A sample looks for open scopes (life/open_scopes.h), and whether lifetimes are
             * measured (lifetimes.h). */
            bool must_look;
        };
        uint16_t is_special;
    };
    uint64_t stack_lo_va; /* verified readable part of this thread's own stack; */
    uint64_t stack_hi_va; /* see stackmem.h */
    struct hs_replay replay;
    uint64_t foreign_lo_va; /* pages near a stack pointer that was not on the thread's own stack */
    uint64_t foreign_hi_va;
    uint32_t fresh_first; /* records taken from the region, not yet used */
    uint32_t fresh_end;

    uint64_t gap_bytes[HS_GAPS_AHEAD];
    struct hs_record_list peak_dead;           /* tombstones of the peak */
    struct hs_record_list snapshot_dead;       /* tombstones of an open snapshot only */
    struct hs_heap_countdown *heap_countdowns; /* by heap id; NULL: it has reported nothing */
    struct hs_thread *next;                    /* the list of all states; none is ever unlinked */
    struct hs_tls *tls;                        /* of its owner; gone when the owner is */
    uint64_t first_alloc_bytes;                /* block->alloc_bytes when its owner took it */
    uint32_t owner_tid;                        /* 0: free to take */
    uint32_t name_interval;
    /* Counts since the last review of `record_cache`: see locate.h. */
    uint32_t found_count;   /* blocks that other threads found there */
    uint32_t evicted_count; /* blocks that were evicted to the index */
    bool is_replay_final;   /* the replay table was enlarged, or cannot be */
    uint32_t rest_count;    /* reviews until the cache is used again; 0: it is used */
    struct hs_cached_record record_cache[1U << HS_RECORD_CACHE_BITS];
    struct hs_walk walk;
    /* For temporary blocks: see lifetimes.h. */
    uint32_t alloc_number;                 /* of its latest recorded block of malloc's */
    const struct hs_record_v1 *last_birth; /* the record of that block; NULL: there is none */
    uint64_t last_left_bytes;              /* tls->left_bytes right after it */
    /* thread/combined_stack.c's; NULL: no interpreter was found yet */
    struct hs_combined_cache *combined_cache;
    /* thread/python_stack.c's; NULL: none of its samples had frames of Python */
    struct hs_python_cache *python_cache;
    struct hs_java_walk java_walk;
    /* thread/script_stack.c's, for the frames of scripts of other interpreters */
    struct hs_script_cache *script_cache;
    struct hs_js_cache *js_cache;   /* see js_frames.h; NULL: it has met no JavaScript */
    struct hs_vm_replay *vm_replay; /* see unwind/vm_replay.h; NULL: it has no such stacks */
    /* Where the structures of interpreters and virtual machines were readable. */
    struct hs_readable_pages pages;
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

/* The part that the hooks of CPython's allocator use: see hooks/python_hooks.h. */
struct hs_python_tls {
    uint64_t left_bytes; /* as in struct hs_heap_countdown; 0: see there */
    uintptr_t moved_va;  /* the block that is being reallocated, until malloc is seen to do it */
    size_t asked_bytes;  /* of the next malloc(1), instead of 1; 0: none */
    uintptr_t given_va;  /* what that malloc returned */
};

/* The running thread's. */
extern HS_HIDDEN _Thread_local struct hs_python_tls hs_python_tls
    __attribute__((tls_model("initial-exec")));

/* The first of all states that were ever made; the others follow by `next`. */
struct hs_thread *hs_thread_first(void);

/* Adds a new state to the list. */
void hs_thread_link(struct hs_thread *thread);

/* Counts a lost sample for this thread, and what it stands for: bytes, and allocations with
 * HS_COUNT_SHIFT binary places. Any context. */
void hs_thread_count_loss(enum hs_loss loss, uint64_t bytes, uint64_t alloc_fx);

/* Adds to a block of counters the losses of threads that had none. */
void hs_thread_adopt_losses(struct hs_thread_block_v1 *block);
