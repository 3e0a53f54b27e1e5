/*
 * All seccomp filters of a thread: read by ptrace, and asked about lists of system calls.
 *
 *     hs_seccomp_stack_read(tid, stack);          while it is stopped: some microseconds
 *     policy = hs_seccomp_policies_find(...);     has the same stack been judged already? A comparison of bytes
 *     policy = hs_seccomp_policies_add(...);      when it runs again: each call, over all filters
 *
 * Threads of a process mostly have the same filters, so what has been judged once is kept.
 *
 * Holds     a call is allowed when the strictest answer of all filters, for all values that are not known, is ALLOW or
 *           LOG; or an errno, where that is enough.
 * Trust     filters are foreign: evaluated in bounds (seccomp_eval.h), and what is not understood is not allowed.
 * Threads   no state but the structs.
 * Fails     -errno.
 */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/seccomp_calls.h"

/* Each counts four instructions more towards the kernel's limit. */
#define HS_SECCOMP_FILTERS_MAX 6554U
#define HS_SECCOMP_WHY_BYTES   96U
#define HS_SECCOMP_POLICIES    64U

struct hs_seccomp_stack {
    size_t filter_count; /* 0: none */
    size_t insn_count;
    uint16_t counts[HS_SECCOMP_FILTERS_MAX]; /* of instructions, the oldest filter first */
    /* One more than there can be, so that what is read always has room. */
    struct sock_filter insns[HS_SECCOMP_INSNS_MAX + HS_SECCOMP_FILTER_MAX];
};

/* What is in the way, in words; "": nothing. */
struct hs_seccomp_why {
    char text[HS_SECCOMP_WHY_BYTES];
};

/* Calls that somebody wants to be made, by who would make them. */
struct hs_seccomp_wants {
    struct hs_seccomp_calls function; /* of the function that is called, in the borrowed thread */
    struct hs_seccomp_calls threads;  /* of all threads from then on */
    struct hs_seccomp_calls optional; /* of all threads, if all may */
};

struct hs_seccomp_policy {
    uint16_t *counts;
    struct sock_filter *insns;
    size_t filter_count, insn_count;
    struct hs_seccomp_why not_stopped, not_borrowed, not_loading, not_function, not_threads,
        not_optional, not_hurried;
};

struct hs_seccomp_policies {
    struct hs_seccomp_policy items[HS_SECCOMP_POLICIES];
    size_t count;
};

/* Of a thread that is stopped by us. -EACCES: we have not the right; -EINVAL: the kernel cannot, or it has none, which
 * only /proc tells apart. */
int hs_seccomp_stack_read(pid_t tid, struct hs_seccomp_stack *stack);

void hs_seccomp_ask(const struct hs_seccomp_stack *stack, const struct hs_seccomp_calls *calls,
                    struct hs_seccomp_why *ret_why);

/* NULL: it is new. */
const struct hs_seccomp_policy *hs_seccomp_policies_find(const struct hs_seccomp_policies *policies,
                                                         const struct hs_seccomp_stack *stack);
/* NULL: no memory, or there are too many. */
const struct hs_seccomp_policy *hs_seccomp_policies_add(struct hs_seccomp_policies *policies,
                                                        const struct hs_seccomp_stack *stack,
                                                        const struct hs_seccomp_wants *wants);
void hs_seccomp_policies_deinit(struct hs_seccomp_policies *policies);
