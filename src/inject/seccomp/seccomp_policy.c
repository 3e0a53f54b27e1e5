/*
 * Reads, compares and checks filters: see seccomp_policy.h.
 */
#include "inject/seccomp/seccomp_policy.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "arch/remote.h"
#include "rt/base.h"

/* From Linux 4.4; not all headers have it. */
#define HS_PTRACE_SECCOMP_GET_FILTER 0x420c

int hs_seccomp_stack_read(pid_t tid, struct hs_seccomp_stack *stack)
{
    stack->filter_count = stack->insn_count = 0;
    for (size_t i = 0;; i++) {
        struct sock_filter *to = stack->insns + stack->insn_count;
        long count = ptrace((enum __ptrace_request)HS_PTRACE_SECCOMP_GET_FILTER, tid, i, to);
        if (count < 0) {
            return errno == ENOENT && i > 0 ? 0 : -errno;
        }
        if (count == 0 || count > (long)HS_SECCOMP_FILTER_MAX || i >= HS_SECCOMP_FILTERS_MAX ||
            stack->insn_count + (size_t)count > HS_SECCOMP_INSNS_MAX) {
            return -E2BIG;
        }
        stack->counts[i] = (uint16_t)count;
        stack->insn_count += (size_t)count;
        stack->filter_count = i + 1;
    }
}

/* --- checking --------------------------------------------------------------------------------- */

static void describe(const char *name, uint32_t result, struct hs_seccomp_why *ret_why)
{
    char *to = ret_why->text;
    switch (result & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ERRNO:
        snprintf(to, HS_SECCOMP_WHY_BYTES, "it does not allow %s: %s", name,
                 strerror((int)(result & SECCOMP_RET_DATA)));
        break;
    case SECCOMP_RET_TRAP:
        snprintf(to, HS_SECCOMP_WHY_BYTES, "it does not allow %s: SIGSYS", name);
        break;
    case SECCOMP_RET_USER_NOTIF:
        snprintf(to, HS_SECCOMP_WHY_BYTES, "it asks another process about %s", name);
        break;
    case SECCOMP_RET_TRACE:
        snprintf(to, HS_SECCOMP_WHY_BYTES, "it asks a tracer about %s", name);
        break;
    default:
        snprintf(to, HS_SECCOMP_WHY_BYTES, "it kills the process for %s", name);
        break;
    }
}

/* Evaluates all filters for one call. False: a filter is not understood. */
static bool evaluate_all(const struct hs_seccomp_stack *stack, const struct hs_seccomp_call *call,
                         uint32_t *ret_result)
{
    const struct sock_filter *code = stack->insns;
    const struct hs_seccomp_input input =
        hs_seccomp_input_of(HS_REMOTE_AUDIT_ARCH, call->number, call->args, call->known_args);
    uint32_t strictest = SECCOMP_RET_ALLOW, result = 0;
    for (size_t i = 0; i < stack->filter_count; i++) {
        if (!hs_seccomp_eval(code, stack->counts[i], &input, &result)) {
            return false;
        }
        strictest = hs_seccomp_stricter(strictest, result);
        code += stack->counts[i];
    }
    *ret_result = strictest;
    return true;
}

static bool is_enough(uint32_t result, bool may_fail)
{
    uint32_t action = result & SECCOMP_RET_ACTION_FULL;
    /* With an errno of 0 the call would seem to succeed although nothing was done. */
    bool is_error = action == SECCOMP_RET_ERRNO && (result & SECCOMP_RET_DATA) != 0;
    return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG || (may_fail && is_error);
}

void hs_seccomp_ask(const struct hs_seccomp_stack *stack, const struct hs_seccomp_calls *calls,
                    struct hs_seccomp_why *ret_why)
{
    ret_why->text[0] = '\0';
    for (size_t i = 0; i < calls->count; i++) {
        const struct hs_seccomp_call *call = &calls->items[i];
        uint32_t result = 0;
        if (!evaluate_all(stack, call, &result)) {
            snprintf(ret_why->text, HS_SECCOMP_WHY_BYTES, "its rule for %s cannot be understood",
                     call->name);
            return;
        }
        if (!is_enough(result, call->may_fail)) {
            describe(call->name, result, ret_why);
            return;
        }
    }
}

/* --- kept verdicts ---------------------------------------------------------------------------- */

static bool is_same(const struct hs_seccomp_policy *policy, const struct hs_seccomp_stack *stack)
{
    return policy->filter_count == stack->filter_count && policy->insn_count == stack->insn_count &&
           memcmp(policy->counts, stack->counts, stack->filter_count * sizeof(stack->counts[0])) ==
               0 &&
           memcmp(policy->insns, stack->insns, stack->insn_count * sizeof(stack->insns[0])) == 0;
}

const struct hs_seccomp_policy *hs_seccomp_policies_find(const struct hs_seccomp_policies *policies,
                                                         const struct hs_seccomp_stack *stack)
{
    for (size_t i = 0; i < policies->count; i++) {
        if (is_same(&policies->items[i], stack)) {
            return &policies->items[i];
        }
    }
    return NULL;
}

static void *copy(const void *from, size_t bytes)
{
    void *to = malloc(bytes);
    return to ? memcpy(to, from, bytes) : NULL;
}

const struct hs_seccomp_policy *hs_seccomp_policies_add(struct hs_seccomp_policies *policies,
                                                        const struct hs_seccomp_stack *stack,
                                                        const struct hs_seccomp_wants *wants)
{
    if (policies->count == HS_SECCOMP_POLICIES || stack->filter_count == 0) {
        return NULL;
    }
    struct hs_seccomp_policy *policy = &policies->items[policies->count];
    policy->counts = copy(stack->counts, stack->filter_count * sizeof(stack->counts[0]));
    policy->insns = copy(stack->insns, stack->insn_count * sizeof(stack->insns[0]));
    if (!policy->counts || !policy->insns) {
        free(policy->counts);
        free(policy->insns);
        return NULL;
    }
    policy->filter_count = stack->filter_count;
    policy->insn_count = stack->insn_count;
    hs_seccomp_ask(stack, &hs_seccomp_stop_calls, &policy->not_stopped);
    hs_seccomp_ask(stack, &hs_seccomp_borrow_calls, &policy->not_borrowed);
    hs_seccomp_ask(stack, &hs_seccomp_load_calls, &policy->not_loading);
    hs_seccomp_ask(stack, &wants->function, &policy->not_function);
    hs_seccomp_ask(stack, &wants->threads, &policy->not_threads);
    hs_seccomp_ask(stack, &wants->optional, &policy->not_optional);
    hs_seccomp_ask(stack, &hs_seccomp_boost_calls, &policy->not_hurried);
    hs_seccomp_ask(stack, &hs_seccomp_hold_calls, &policy->not_holding);
    policies->count++;
    return policy;
}

void hs_seccomp_policies_deinit(struct hs_seccomp_policies *policies)
{
    for (size_t i = 0; i < policies->count; i++) {
        free(policies->items[i].counts);
        free(policies->items[i].insns);
    }
    policies->count = 0;
}
