/*
 * The policy of a file, and what it needs to know of a process.
 *
 * Holds     a policy is only taken from a file that nobody else can write: owned by root, or by the one who
 *           trusts it, without write permission for group and others.
 * Threads   none.
 * Fails     loading: -errno, with words that begin with the file's name. What cannot be read of a process is
 *           unknown.
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

/* `owner`: who may own it, apart from root. -ENOENT: there is no such file. */
int hs_policy_load(const char *path, uid_t owner, struct hs_policy **ret_policy,
                   char ret_words[HS_POLICY_WORDS_BYTES]);

/* Facts of a running process, and room for their texts. Not to be copied: it points into itself. */
struct hs_policy_process {
    struct hs_policy_facts facts;
    bool is_status_known;
    struct hs_proc_status status;
    bool is_unwilling; /* HEAPSCOPE_PROFILEABLE=0; only when the wish is known */
    char exe[PATH_MAX];
    char cgroups[8192];
};

/* In a folder that stands for /proc. `is_deep`: with what only exe, cgroup and environ tell. */
void hs_policy_process_read(const char *proc, pid_t pid, bool is_deep,
                            struct hs_policy_process *ret_process);

/* /proc/PID/environ alone. False: it cannot be read. Neither of both: nothing was said. */
bool hs_policy_read_wish(const char *proc, pid_t pid, bool *ret_is_willing, bool *ret_is_unwilling);
