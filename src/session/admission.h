/*
 * May this user profile this process? The kernel's rules where it is asked anyway, and where it is not, as of
 * programs that announce themselves, ones like them.
 *
 *     policy           a rule may forbid, or give the process to others
 *     user             all three ids are his, or he may have everybody's (root, CAP_SYS_PTRACE)
 *     opted out        started with HEAPSCOPE_PROFILEABLE=0; what brings the client itself does not even announce
 *                      itself then
 *     not dumpable     for root only, unless the process announced itself with HEAPSCOPE_PROFILEABLE=1
 *
 * Everything is read when it is asked, in this order, and only what can matter. A process that has ended is judged
 * by who it was when it announced itself.
 *
 * Holds     nothing that a process says of itself gives somebody else a right to it, but the last.
 * Threads   none.
 * Fails     never: what cannot be read is unknown, see policy.h.
 * See       policy_file.h, ptrace(2) "Ptrace access mode checking"
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "session/policy.h"
#include "trace/refusal.h"

struct hs_admission_asker {
    uid_t uid;
    const gid_t *gids;
    size_t gid_count;
    bool is_any_uid; /* he may have everybody's processes */
};

struct hs_admission_process {
    pid_t pid;
    uid_t uid;         /* whose it was when it was first seen */
    bool is_attaching; /* it has no client that it brought itself */
    bool is_willing;   /* said so when it announced itself */
    bool has_ended;
    const char *exe; /* as it said itself, for when it has ended; NULL: unknown */
};

/* `policy` may be NULL; `proc` is "/proc", or stands for it. */
enum hs_refusal hs_admission_judge(const struct hs_policy *policy, const char *proc,
                                   const struct hs_admission_asker *asker,
                                   const struct hs_admission_process *process,
                                   struct hs_refusal_words *ret_words);
