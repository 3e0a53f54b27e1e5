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

#include "collect/target.h"
#include "daemon/user_rights.h"
#include "session/policy.h"
#include "session/session.h"

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

/* Reads the file again. Logs errors. Returns whether there is a new policy, which running sessions
 * must then obey: hs_hub_review(). */
bool hs_access_control_reload(struct hs_access_control *access);

/* May the sessions of this user record the processes of every user? */
bool hs_access_control_is_any_uid(const struct hs_access_control *access, uid_t uid);

/* May the session, which a user with these rights asked for, record the process? `target` NULL: it
 * would be attached to. Returns HS_REFUSAL_NONE if it may, otherwise the reason, with a text for
 * the user in *ret_words. */
enum hs_refusal hs_access_control_authorize(const struct hs_access_control *access,
                                            const struct hs_session *session,
                                            const struct hs_user_rights *rights,
                                            const struct hs_process_facts *process,
                                            struct hs_target *target,
                                            struct hs_refusal_words *ret_words);

/* To which user a snapshot of this target belongs that is kept beside the session's file: to the
 * process's, who could profile it; otherwise to that of the session. */
uid_t hs_access_control_find_owner(const struct hs_access_control *access,
                                   const struct hs_user_rights *rights, struct hs_target *target);

/* May this process, which is bound, record without a session? A refusal is logged. */
bool hs_access_control_may_bind(const struct hs_access_control *access,
                                const struct hs_process_facts *process, struct hs_target *target);
