/*
 * The client's life: from the first allocation, through fork, to the end.
 *
 *   NEW ──first hook or constructor──► STARTING ──► ON ──fork──► WAITING ──first sample──► FOLLOWING ──► ON
 *                                          │                 (in the child)                     │
 *                                          └── no collector, no memory ──► OFF ◄── raw clone ───┘
 *
 *   OFF ──attach──► STARTING ──► ON ──detach──► STARTING ──► OFF
 *
 * Everything is set up inside the first allocation of the process, which comes before any
 * constructor of ours. A forked child shares the region's pages with its parent and so must not
 * write: a page that the kernel empties in children (MADV_WIPEONFORK) says so at its first slow path.
 * With its first sample, or, dormant, when it has allocated some, it begins a region of its own (fork.h), if it was fork(2) that made it: of a raw
 * clone nobody tells us before, and it is OFF. A vfork child runs in the parent's memory, and its
 * allocations are the parent's.
 *
 * Threads   hs_lifecycle_start from any; one of them does it, the others go on without being
 *           profiled until it is done.
 * Fails     OFF: every hook then only forwards, until somebody attaches.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/region_layout.h"
#include "rt/atomic.h"
#include "rt/base.h"

enum hs_life {
    HS_LIFE_NEW,
    HS_LIFE_STARTING,
    HS_LIFE_ON,
    HS_LIFE_WAITING,   /* a forked child: it has not begun to record */
    HS_LIFE_FOLLOWING, /* it is about to */
    HS_LIFE_OFF,
};

struct hs_lifecycle {
    /* Points to a word that is not 0 while we are ON: on a page of its own, which the kernel empties
     * in a forked child. Before that and after it, to one that is 0. */
    const uint32_t *alive_word;
    uint32_t state; /* enum hs_life */
    /* Births up to this epoch are from before the last fork: see fork.h. 0: nobody needs to know. Here, as
     * each free asks. */
    uint64_t fork_epoch;
};

extern HS_HIDDEN struct hs_lifecycle hs_lifecycle;

/* Sets up everything, once. Where the executable has an allocator of its own, it waits for the collector: waiting.h. */
void hs_lifecycle_start(void);

/*
 * Begins to record in a process that runs already: 0, and *ret_fd is the caller's to hand over and close.
 * -EBUSY: it does already; -ENOTSUP: it must not, here; -EAGAIN: a thread is still recording for who was there
 * before (with is_patient); or another -errno. Not from inside our own code; signals are blocked by the caller.
 */
struct hs_env;
int hs_lifecycle_attach(const struct hs_env *env, bool is_patient, int *ret_fd);

/* The opposite: OFF, and with *ret_was_quiet no table left. Without, a thread is still recording, and the tables
 * go when this is called again. -ENOENT: it does not record, and there are none. */
int hs_lifecycle_detach(bool *ret_was_quiet);

/* From now on no hook sees some of what the program allocates, for this reason (HS_LOSS_UNSEEN_...): counted once in each
 * region. */
void hs_lifecycle_note_unseen(enum hs_loss loss);

/* A new region for another session, with the settings that are in force. False: not now, or not any more. Not from
 * inside our own code. */
bool hs_lifecycle_renew(void);

/* What hs_lifecycle_is_on does when it is not plainly so. */
bool hs_lifecycle_is_on_slow(void);

/* A forked child begins to record. False: it cannot, or somebody else is at it. */
bool hs_lifecycle_follow_fork(void);

/* Not on; but perhaps soon? */
static inline bool hs_lifecycle_is_waiting(void)
{
    uint32_t state = hs_load_relaxed(&hs_lifecycle.state);
    return state == HS_LIFE_WAITING || state == HS_LIFE_FOLLOWING;
}

/* Are tables being made, or emptied? Then nobody else may write to them. */
static inline bool hs_lifecycle_is_starting(void)
{
    return hs_load_relaxed(&hs_lifecycle.state) == HS_LIFE_STARTING;
}

/* May we record? To be asked at each slow path. */
static inline bool hs_lifecycle_is_on(void)
{
    /* ORDER life: all that start prepared, before the word is set. */
    return hs_likely(hs_load_acquire(hs_load_relaxed(&hs_lifecycle.alive_word)) != 0) ||
           hs_lifecycle_is_on_slow();
}
