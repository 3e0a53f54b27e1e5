/*
 * Access control decides which processes a session of the daemon may record. It keeps the policy,
 * and makes the checks of admission.h.
 *
 * The machine's daemon has the policy /etc/heapscope/policy.conf, if that file exists; any daemon
 * has the policy that --policy names. On SIGHUP the daemon reads the file again. A file with an
 * error changes nothing; a new policy also applies to running sessions.
 *
 * A command has the rights of its user and groups at the moment when it connected. Its capabilities
 * are not used: /proc/PID/status shows those that the process has now, and it may have executed a
 * set-user-id program after it connected.
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
    char *path;          /* of the policy; NULL: this daemon has no policy */
    uid_t owner;         /* who may own the policy's file, apart from root */
    bool is_needed;      /* a missing file is an error */
    bool has_sys_ptrace; /* the daemon has CAP_SYS_PTRACE */
    bool is_system;
    struct hs_policy *policy; /* NULL: none */
};

/* Loads the policy. `path` NULL: the default policy. Returns 0 or -errno; after an error nothing
 * has to be closed. */
int hs_access_control_open(const char *path, bool is_system, struct hs_access_control *ret_access);
/* Frees the policy. Accepts a zeroed structure. */
void hs_access_control_close(struct hs_access_control *access);

/* Does /proc hide processes from other users (hidepid)? Then the daemon hides them, too. */
bool hs_access_control_is_hiding_others(void);

/* Reads the file again, and applies the new policy to running sessions. Logs errors. */
void hs_access_control_reload(struct hs_daemon *daemon, uint64_t now_ns);

/* May the sessions of this user record the processes of every user? */
bool hs_access_control_is_any_uid(const struct hs_access_control *access, uid_t uid);

/* Has the form of hs_hub_authorize_fn; `daemon` is the struct hs_daemon. */
enum hs_refusal hs_access_control_authorize(void *daemon, const struct hs_session *session,
                                            const struct hs_process_facts *process,
                                            struct hs_target *target,
                                            struct hs_refusal_words *ret_words);
