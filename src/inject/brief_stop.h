/*
 * Stops one thread and lets it continue as if nothing had happened: its wait goes on with the rest
 * of its timeout.
 *
 * A thread with seccomp filters continues an interrupted wait by restart_syscall(2), which its
 * filters must allow too. Until that is known (seccomp_policy.h), the thread's registers are set so
 * that its wait starts from the beginning, in case heapscope is killed meanwhile.
 *
 * Threads   one, because ptrace demands it.
 * Fails     enum hs_inject_error, or HS_BRIEF_STOP_AGAIN: a signal came first, or the thread
 *           vanished.
 */
#pragma once

#include "inject/inject_session.h"
#include "inject/ptrace/candidates.h"
#include "inject/ptrace/wait_kind.h"

#define HS_BRIEF_STOP_AGAIN (-1)

/* Stops the candidate's thread; it is then session->tracee. Reads its filters into session->filters
 * if that is allocated. *ret_wait is what the thread waits for now. Returns HS_INJECT_DONE, or see
 * Fails. */
int hs_brief_stop(struct hs_inject_session *session, const struct hs_candidate *candidate,
                  struct hs_wait *ret_wait);
/* Lets the thread continue, with the rest of the timeout of `wait`. */
void hs_brief_stop_end(struct hs_inject_session *session, const struct hs_wait *wait);
