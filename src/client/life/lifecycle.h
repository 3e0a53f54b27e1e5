/*
 * The client's life: from the first allocation, through fork, to the end.
 *
 *  NEW ──first hook or load──► STARTING ──► ON ──fork──► WAITING ──first sample──► FOLLOWING ──► ON
 *                                  │                 (in the child)                     │
 *                                  └── no collector, no memory ──► OFF ◄── raw clone ───┘
 *
 *  OFF ──attach, heapscope_bind()──► STARTING ──► ON ──detach──► STARTING ──► OFF
 *
 * Everything is set up inside the first allocation of the process, which comes before any
 * constructor of ours. A forked child shares the region's pages with its parent and must not write
 * to them. A page that the kernel empties in children (tables/life_state.h) tells the child so at
 * its first slow path. If fork(2) made the child, it begins a region of its own (fork.h) with its
 * first sample, or, when it is dormant, after it has allocated HS_COUNTDOWN_SETTLED_BYTES. After a
 * raw clone no handler of ours has run, and the child is OFF. A vfork child runs in the parent's
 * memory, and its allocations are the parent's.
 *
 * Threads   any thread may make the first allocation; one of them starts everything, and the others
 *           go on without being profiled until it is done.
 * Fails     OFF: every hook then only forwards, until a collector attaches.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/life_state.h"
#include "fmt/region_layout.h"
#include "rt/base.h"

struct hs_env;
/* Begins to record in a process that runs already. 0: done; the caller hands *ret_fd over and
 * closes it. -EBUSY: the process is recording already; -ENOTSUP: it must not record in this
 * process; -EAGAIN: with is_patient, a thread is still recording for the previous collector; or
 * another -errno. Not from inside our own code; the caller has blocked signals. */
int hs_lifecycle_attach(const struct hs_env *env, bool is_patient, int *ret_fd);

/* The opposite: sets OFF. *ret_was_quiet true: the tables are gone. False: a thread is still
 * recording, and the tables go when this is called again. -ENOENT: the process does not record, and
 * there are no tables. */
int hs_lifecycle_detach(bool *ret_was_quiet);

/* The socket of the collector that records this process, as hs_register_connect expects it; "":
 * there is none. */
const char *hs_lifecycle_collector(void);

/* From now on no hook sees some of the program's allocations, for this reason (HS_LOSS_UNSEEN_...):
 * counted once in each region. */
void hs_lifecycle_note_unseen(enum hs_loss loss);

/* Makes a new region for another session, with the current settings. False: not now, or not any
 * more. Not from inside our own code. */
bool hs_lifecycle_renew(void);

/* For bind_call.h: begin to record what bind.h says, in a process whose client is OFF, or dormant
 * and known to a daemon; the second announces itself again, with a new region. Signals are blocked.
 * 0 or -errno. */
int hs_lifecycle_bind_idle(void);
int hs_lifecycle_bind_dormant(uint64_t interval_bytes);

/* Slow path of hs_lifecycle_is_on: starts the client, or notices a fork. */
bool hs_lifecycle_is_on_slow(void);

/* A forked child begins to record. False: it cannot, or another thread has begun and is not
 * done. */
bool hs_lifecycle_follow_fork(void);

/* May the client record? Asked at each slow path. */
static inline bool hs_lifecycle_is_on(void)
{
    return hs_likely(hs_life_state_is_alive()) || hs_lifecycle_is_on_slow();
}
