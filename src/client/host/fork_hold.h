/*
 * Holding forks: for some milliseconds no thread of the process forks.
 *
 * A thread holds forks while it makes a change that a forked child must not find half done
 * (patch/patch.h). A thread that wants to fork then waits. The handlers that run around fork(2)
 * call hs_fork_hold_enter and hs_fork_hold_leave; if they are not registered, no thread waits.
 *
 * Threads   one thread at a time holds forks, with signals blocked; any number of threads may fork.
 * Fails     hs_fork_hold_begin returns false when a fork in progress has lasted too long: forks are
 *           then not held.
 */
#pragma once

#include <stdbool.h>

/* From here until hs_fork_hold_end no fork is in progress. False: forks are not held. */
bool hs_fork_hold_begin(void);
/* Ends what hs_fork_hold_begin began. */
void hs_fork_hold_end(void);

/* Called before a fork: waits until forks are not held, and counts this one as one in progress. */
void hs_fork_hold_enter(void);
/* Called in the parent after it. */
void hs_fork_hold_leave(void);
/* Called in the child, whose only thread holds nothing: no fork is in progress, and none is
 * held. */
void hs_fork_hold_reset(void);
