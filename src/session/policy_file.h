/*
 * Reads a policy from its file, and the facts about a process that a policy uses from /proc.
 *
 * Ensures   a policy is taken only from a file that no other user can write: it belongs to root or
 *           to the user `owner`, and has no write permission for group and others.
 * Threads   none.
 * Fails     loading: -errno, with a message that begins with the file's name. A fact about a
 *           process that cannot be read is unknown.
 * See       policy.h
 */
#pragma once

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "session/policy.h"
#include "util/proc.h"

#define HS_POLICY_SYSTEM_PATH "/etc/heapscope/policy.conf"
#define HS_POLICY_WORDS_BYTES (PATH_MAX + 256)

/* Loads a policy. `owner` is the user who may own the file, apart from root. Returns 0, or -errno
 * with a message in ret_words; -ENOENT: there is no such file. */
int hs_policy_load(const char *path, uid_t owner, struct hs_policy **ret_policy,
                   char ret_words[HS_POLICY_WORDS_BYTES]);

/* The facts about a running process, with the room for their texts. Do not copy it: it points into
 * itself. */
struct hs_policy_process {
    struct hs_policy_facts facts;
    bool is_status_known;
    struct hs_proc_status status;
    bool is_unwilling; /* HEAPSCOPE_PROFILEABLE=0; valid if facts.is_consent_known */
    char exe[PATH_MAX];
    char cgroups[8192];
};

/* Reads the facts. `proc` is "/proc", or a folder in its place for tests. With `is_deep` it reads
 * exe, cgroup and environ, too; without, only status. */
void hs_policy_process_read(const char *proc, pid_t pid, bool is_deep,
                            struct hs_policy_process *ret_process);

/* Reads HEAPSCOPE_PROFILEABLE from /proc/PID/environ. Returns false if that cannot be read. Both
 * results are false if the variable is not set, or has another value. */
bool hs_policy_read_consent(const char *proc, pid_t pid, bool *ret_is_willing,
                            bool *ret_is_unwilling);
