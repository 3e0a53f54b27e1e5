/*
 * May a process with seccomp filters be made to do what we are about to make it do? All its threads are asked, each by
 * reading its filters, for which it is stopped for some microseconds. Threads may have different ones.
 *
 * A thread that begins later has the filters of the one that began it. So when all have been read, those that come
 * meanwhile are read too, but not for ever: after some rounds one with as many filters as one that was read is taken for
 * its heir.
 *
 * Threads   one, as ptrace demands.
 * Fails     enum hs_inject_error, with a detail that names the call.
 * See       seccomp_policy.h, docs/adr/0017-seccomp.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/inject_check.h"
#include "inject/inject_session.h"

/* To be called before each search; what was read is known already. result->has_filters and is_limited are then true to
 * the moment. */
int hs_seccomp_survey(struct hs_inject_session *session);

/* Of a thread that may be borrowed: the right to read its filters, and room for them. HS_INJECT_SECCOMP_FORBIDS: they have
 * been read, and do not allow it. */
int hs_seccomp_survey_expect(struct hs_inject_session *session, pid_t tid,
                             const struct hs_inject_thread *thread);

/* The same when it stands still, and its filters have been read. HS_BRIEF_STOP_AGAIN: they are new; they are judged with
 * hs_seccomp_survey_judge when it runs again. */
int hs_seccomp_survey_confirm(struct hs_inject_session *session,
                              const struct hs_inject_thread *thread);
int hs_seccomp_survey_judge(struct hs_inject_session *session, pid_t tid,
                            const struct hs_inject_thread *thread);

void hs_seccomp_survey_deinit(struct hs_inject_session *session);
