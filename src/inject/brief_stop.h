/*
 * Stopping one thread, and letting it go as if nothing had been: its wait goes on, with what is left of its time.
 *
 * A thread with seccomp filters goes on with an interrupted wait by restart_syscall(2), which its filters must allow too.
 * Until that is known (seccomp_policy.h), its wait is to start anew, in case that we are killed meanwhile.
 *
 * Threads   one, as ptrace demands.
 * Fails     enum hs_inject_error, or HS_BRIEF_STOP_AGAIN: a signal came first, or it vanished.
 */
#pragma once

#include "inject/candidates.h"
#include "inject/inject_session.h"
#include "inject/wait_kind.h"

#define HS_BRIEF_STOP_AGAIN (-1)

/* session->tracee. If there is room for them, session->filters are read. *ret_wait: what it waits for, by now. */
int hs_brief_stop(struct hs_inject_session *session, const struct hs_candidate *candidate,
                  struct hs_wait *ret_wait);
void hs_brief_stop_end(struct hs_inject_session *session, const struct hs_wait *wait);
