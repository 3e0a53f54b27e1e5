/*
 * The access control: whom a session of the daemon may have. Keeps the policy, and asks the questions of admission.h.
 *
 * The machine's daemon has a policy in /etc/heapscope/policy.conf, if there is such a file; any daemon has the one
 * it is told. SIGHUP has the file read again: a wrong one changes nothing, a new one counts for running sessions too.
 *
 * Rights of a command are those of its user and groups as they were when it connected. Its capabilities are not
 * asked for: /proc/PID/status tells those that the process has by now, and it may execute a set-user-id program
 * between connecting and our look.
 *
 * Threads   one.
 * Fails     -errno at the start, logged with the line of the file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "session/policy.h"
#include "session/session.h"

struct hs_daemon;

struct hs_access_control {
    char *path; /* of the policy; NULL: there is none, nor will be */
    uid_t owner;
    bool is_needed; /* a policy that is not there is an error */
    bool has_sys_ptrace;
    bool is_system;
    struct hs_policy *policy; /* NULL: none */
};

/* `path` NULL: the default's. When it fails there is nothing to close. */
int hs_access_control_open(const char *path, bool is_system, struct hs_access_control *ret_access);
void hs_access_control_close(struct hs_access_control *access);

/* Does /proc hide processes of other users from everybody (hidepid)? Then so do we. */
bool hs_access_control_is_hiding_others(void);

/* The file is read again. */
void hs_access_control_reload(struct hs_daemon *daemon, uint64_t now_ns);

/* May the sessions of this user have everybody's processes? */
bool hs_access_control_is_any_uid(const struct hs_access_control *access, uid_t uid);

/* As hs_hub_authorize_fn. */
enum hs_refusal hs_access_control_authorize(void *daemon, const struct hs_session *session,
                                            const struct hs_process_facts *process,
                                            struct hs_target *target,
                                            struct hs_refusal_words *ret_words);
