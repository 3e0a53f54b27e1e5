/*
 * Reads all seccomp filters of a thread by ptrace, and checks lists of system calls against them.
 *
 *     hs_seccomp_stack_read(tid, stack);       while the thread is stopped: some microseconds
 *     policy = hs_seccomp_policies_find(...);  compares bytes: has an equal stack been judged?
 *     policy = hs_seccomp_policies_add(...);   when the thread runs again: each call, all filters
 *
 * Most threads of a process have the same filters, so each verdict is kept.
 *
 * Ensures   a call is allowed when the strictest answer of all filters, over all values of the
 *           unknown words, is ALLOW or LOG; or an errno, for calls that may fail.
 * Trust     filters come from another process: they are evaluated within bounds (seccomp_eval.h),
 *           and what is not understood counts as not allowed.
 * Threads   no state outside the structs.
 * Fails     -errno.
 */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/seccomp/seccomp_calls.h"

/* Each filter counts as four additional instructions towards the kernel's limit. */
#define HS_SECCOMP_FILTERS_MAX 6554U
#define HS_SECCOMP_WHY_BYTES   96U
#define HS_SECCOMP_POLICIES    64U

struct hs_seccomp_stack {
    size_t filter_count; /* 0: none */
    size_t insn_count;
    uint16_t counts[HS_SECCOMP_FILTERS_MAX]; /* instructions per filter, the oldest filter first */
    /* Room for one filter more than the kernel allows, so that a read always has room. */
    struct sock_filter insns[HS_SECCOMP_INSNS_MAX + HS_SECCOMP_FILTER_MAX];
};

/* Human-readable: which call the filters do not allow; "": they allow all. */
struct hs_seccomp_why {
    char text[HS_SECCOMP_WHY_BYTES];
};

/* The calls that filters must allow, by the thread that makes them. */
struct hs_seccomp_wants {
    struct hs_seccomp_calls function; /* the called function's, in the borrowed thread */
    struct hs_seccomp_calls threads;  /* those of all threads from then on */
    struct hs_seccomp_calls optional; /* those of all threads, if all may make them */
};

struct hs_seccomp_policy {
    uint16_t *counts;
    struct sock_filter *insns;
    size_t filter_count, insn_count;
    struct hs_seccomp_why not_stopped, not_borrowed, not_loading, not_function, not_threads,
        not_optional, not_hurried, not_holding;
};

struct hs_seccomp_policies {
    struct hs_seccomp_policy items[HS_SECCOMP_POLICIES];
    size_t count;
};

/* Reads the filters of a thread that heapscope has stopped. 0 or -errno. -EACCES: heapscope lacks
 * the right. -EINVAL: the kernel does not support it, or the thread has no filter; only /proc tells
 * these two apart. */
int hs_seccomp_stack_read(pid_t tid, struct hs_seccomp_stack *stack);

/* Checks every call of the list against all filters. *ret_why is about the first call that is not
 * allowed, or "". */
void hs_seccomp_ask(const struct hs_seccomp_stack *stack, const struct hs_seccomp_calls *calls,
                    struct hs_seccomp_why *ret_why);

/* The verdict on an equal filter stack. NULL: there is none yet. */
const struct hs_seccomp_policy *hs_seccomp_policies_find(const struct hs_seccomp_policies *policies,
                                                         const struct hs_seccomp_stack *stack);
/* Judges the filter stack and keeps the verdict. NULL: out of memory, or there are too many
 * already. */
const struct hs_seccomp_policy *hs_seccomp_policies_add(struct hs_seccomp_policies *policies,
                                                        const struct hs_seccomp_stack *stack,
                                                        const struct hs_seccomp_wants *wants);
/* Frees the verdicts. */
void hs_seccomp_policies_deinit(struct hs_seccomp_policies *policies);
