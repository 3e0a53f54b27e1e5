/*
 * Finds out whether a process with seccomp filters may make the calls that an injection needs. All
 * its threads are checked, because threads may have different filters. Each thread is stopped for
 * some microseconds while its filters are read.
 *
 * A thread that starts later inherits the filters of the thread that started it. After all threads
 * have been read, new threads are read too, but only for a limited number of rounds. After that, a
 * thread with as many filters as one that was read is taken to have inherited that one's filters.
 *
 * Threads   one, because ptrace demands it.
 * Fails     enum hs_inject_error, with a detail that names the call.
 * See       seccomp_policy.h, docs/adr/0017-seccomp.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/check/inject_check.h"
#include "inject/inject_session.h"

/* Checks all threads. The caller calls this before each search for a thread; threads that were read
 * before are not read again. result->has_filters and is_limited are then up to date. */
int hs_seccomp_survey(struct hs_inject_session *session);

/* For a thread that may be borrowed, before it is stopped: ensures the right to read its filters,
 * and allocates room for them. HS_INJECT_SECCOMP_FORBIDS: they have been read already, and do not
 * allow the calls. */
int hs_seccomp_survey_expect(struct hs_inject_session *session, pid_t tid,
                             const struct hs_inject_thread *thread);

/* The same after the thread was stopped and its filters were read. HS_BRIEF_STOP_AGAIN: the filters
 * are new; the caller judges them with hs_seccomp_survey_judge when the thread runs again. */
int hs_seccomp_survey_confirm(struct hs_inject_session *session,
                              const struct hs_inject_thread *thread);
/* Judges the filters that were read last, and remembers the verdict for thread `tid`. */
int hs_seccomp_survey_judge(struct hs_inject_session *session, pid_t tid,
                            const struct hs_inject_thread *thread);

/* Frees the filters and verdicts of the session. */
void hs_seccomp_survey_deinit(struct hs_inject_session *session);
