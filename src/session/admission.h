/*
 * Admission: may this user profile this process? The rules are the kernel's rules for ptrace. The
 * kernel checks them when we attach; here they are also applied to programs that announce
 * themselves, for which the kernel checks nothing. The checks, in this order:
 *
 *     policy           a rule may forbid profiling, or give the process to other users
 *     user             all three user ids of the process are the user's, or the user may profile
 *                      the processes of every user (root, CAP_SYS_PTRACE)
 *     opted out        the process was started with HEAPSCOPE_PROFILEABLE=0. A program that brings
 *                      the client itself does not even announce itself then.
 *     not dumpable     for root only, unless the process announced itself with
 *                      HEAPSCOPE_PROFILEABLE=1
 *
 * Each fact is read when a check asks for it, and only if it can matter. A process that has ended
 * is judged by the facts of the moment when it announced itself.
 *
 * Ensures   nothing that a process says of itself gives another user a right to it, except
 *           HEAPSCOPE_PROFILEABLE=1, as stated above.
 * Threads   none.
 * Fails     never: a fact that cannot be read is unknown, see policy.h.
 * See       policy_file.h, ptrace(2) "Ptrace access mode checking"
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "session/policy.h"
#include "trace/refusal.h"

/* The user who asks. */
struct hs_admission_asker {
    uid_t uid;
    const gid_t *gids;
    size_t gid_count;
    bool is_any_uid; /* the user may profile the processes of every user */
};

struct hs_admission_process {
    pid_t pid;
    uid_t uid;         /* its user when it was first seen */
    bool is_attaching; /* it did not bring the client itself: we attach, or have attached, to it */
    bool is_willing;   /* it announced itself with HEAPSCOPE_PROFILEABLE=1 */
    bool has_ended;
    const char *exe; /* the path that it announced, used if it has ended; NULL: unknown */
};

/* Applies the checks. `policy` may be NULL; `proc` is "/proc", or a folder in its place for tests.
 * Returns HS_REFUSAL_NONE if the user may profile the process, otherwise the reason, with a text
 * for the user in *ret_words. */
enum hs_refusal hs_admission_check(const struct hs_policy *policy, const char *proc,
                                   const struct hs_admission_asker *asker,
                                   const struct hs_admission_process *process,
                                   struct hs_refusal_words *ret_words);
