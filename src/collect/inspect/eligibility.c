/*
 * The rules: see eligibility.h. Each rule answers one question about the facts; the rules have the
 * order of the enum.
 */
#include "collect/inspect/eligibility.h"

#include "rt/base.h"

#define YAMA_DESCENDANTS 1U
#define YAMA_CAPABLE     2U
#define YAMA_NOBODY      3U

#define SECCOMP_STRICT   1U
#define SECCOMP_FILTERED 2U

static bool has_no_such_program(const struct hs_eligibility *it, enum hs_eligibility_verdict *ret)
{
    if (!it->exists) {
        *ret = HS_INELIGIBLE_GONE;
    } else if (it->stat.is_kernel_thread) {
        *ret = HS_INELIGIBLE_KERNEL;
    } else if (it->stat.is_exiting) {
        *ret = HS_INELIGIBLE_ZOMBIE;
    } else if (it->status.tgid != (uint32_t)it->pid) {
        *ret = HS_INELIGIBLE_THREAD;
    } else if (it->is_us) {
        *ret = HS_INELIGIBLE_SELF;
    } else {
        return false;
    }
    return true;
}

static bool are_ids(const struct hs_proc_ids *ids, uint32_t id)
{
    return ids->real == id && ids->effective == id && ids->saved == id;
}

/* The same rules as in the kernel's __ptrace_may_access(), and in Yama after it. */
static bool explain_refusal(const struct hs_eligibility *it, enum hs_eligibility_verdict *ret)
{
    const struct hs_eligibility_actor *us = &it->actor;
    bool is_capable = us->has_sys_ptrace;
    if (!is_capable && !(are_ids(&it->status.uid, us->uid) && are_ids(&it->status.gid, us->gid))) {
        *ret = HS_INELIGIBLE_OTHER_USER;
    } else if (!is_capable && it->is_dumpable == HS_ANSWER_NO) {
        *ret = HS_INELIGIBLE_NOT_DUMPABLE;
    } else if (!is_capable && (it->status.cap_permitted_mask & ~us->cap_permitted_mask) != 0) {
        *ret = HS_INELIGIBLE_MORE_RIGHTS;
    } else if (it->yama_scope >= YAMA_NOBODY || (it->yama_scope == YAMA_CAPABLE && !is_capable) ||
               (it->yama_scope == YAMA_DESCENDANTS && !is_capable && !it->is_descendant)) {
        *ret = HS_INELIGIBLE_YAMA;
    } else {
        return false;
    }
    return true;
}

static bool is_not_permitted(const struct hs_eligibility *it, enum hs_eligibility_verdict *ret)
{
    if (it->may_trace == HS_ANSWER_YES) {
        return false;
    }
    bool is_explained = explain_refusal(it, ret);
    if (!is_explained && it->may_trace == HS_ANSWER_NO) {
        *ret = HS_INELIGIBLE_REFUSED;
        return true;
    }
    return is_explained;
}

/* Must heapscope read a seccomp filter that it may not read? A process that already has the client,
 * and whose collector knows it, needs no injection. */
static bool is_unreadable(const struct hs_eligibility *it, enum hs_eligibility_verdict *ret)
{
    *ret = HS_INELIGIBLE_FILTER;
    return it->status.seccomp_mode == SECCOMP_FILTERED && !it->actor.may_read_filters &&
           it->client.state != HS_CLIENT_WAITING && it->client.state != HS_CLIENT_ACTIVE;
}

static bool is_unwilling(const struct hs_eligibility *it, enum hs_eligibility_verdict *ret)
{
    *ret = HS_INELIGIBLE_OPTED_OUT;
    return it->is_profileable == HS_ANSWER_NO;
}

static bool is_impossible(const struct hs_eligibility *it, enum hs_eligibility_verdict *ret)
{
    const struct hs_loaded_runtimes *inside = &it->runtimes;
    bool is_static =
        it->exe.is_known ? it->exe.is_static : it->is_maps_known && inside->libc == HS_LIBC_NONE;
    if (it->exe.is_known && !it->exe.is_64bit) {
        *ret = HS_INELIGIBLE_32BIT;
    } else if (it->exe.is_known && !it->exe.is_native) {
        *ret = HS_INELIGIBLE_OTHER_MACHINE;
    } else if (inside->has_valgrind) {
        /* before the static rule: valgrind's own program is static */
        *ret = HS_INELIGIBLE_VALGRIND;
    } else if (is_static) {
        *ret = HS_INELIGIBLE_STATIC;
    } else if (inside->libc == HS_LIBC_MUSL) {
        *ret = HS_INELIGIBLE_MUSL;
    } else if (inside->sanitizer || it->exe.sanitizer) {
        *ret = HS_INELIGIBLE_SANITIZER;
    } else if (it->status.seccomp_mode == SECCOMP_STRICT) {
        *ret = HS_INELIGIBLE_SECCOMP;
    } else {
        return false;
    }
    return true;
}

static bool is_not_now(const struct hs_eligibility *it, enum hs_eligibility_verdict *ret)
{
    if (it->is_maps_known && it->runtimes.libc == HS_LIBC_NONE) {
        *ret = HS_INELIGIBLE_STARTING;
    } else if (it->runtimes.profiler) {
        *ret = HS_INELIGIBLE_PROFILER;
    } else if (it->client.state == HS_CLIENT_ACTIVE) {
        *ret = HS_INELIGIBLE_RECORDING;
    } else if (it->status.tracer_pid != 0) {
        *ret = HS_INELIGIBLE_TRACED;
    } else if (it->is_stopped) {
        *ret = HS_INELIGIBLE_STOPPED;
    } else {
        return false;
    }
    return true;
}

static enum hs_eligibility_by find_by(const struct hs_eligibility *it)
{
    switch (it->verdict) {
    case HS_ELIGIBLE:
    case HS_ELIGIBLE_FOR_DAEMON:
        return HS_ELIGIBLE_BY_US;
    case HS_INELIGIBLE_OTHER_USER:
        return it->is_dumpable == HS_ANSWER_NO || it->yama_scope >= YAMA_DESCENDANTS
                   ? HS_ELIGIBLE_BY_ROOT
                   : HS_ELIGIBLE_BY_OWNER;
    case HS_INELIGIBLE_NOT_DUMPABLE:
    case HS_INELIGIBLE_MORE_RIGHTS:
    case HS_INELIGIBLE_FILTER:
        return HS_ELIGIBLE_BY_ROOT;
    case HS_INELIGIBLE_YAMA:
        return it->yama_scope >= YAMA_NOBODY ? HS_ELIGIBLE_BY_NOBODY : HS_ELIGIBLE_BY_ROOT;
    default:
        return HS_ELIGIBLE_BY_NOBODY;
    }
}

void hs_eligibility_decide(struct hs_eligibility *it)
{
    static bool (*const rules[])(const struct hs_eligibility *, enum hs_eligibility_verdict *) = {
        has_no_such_program, is_not_permitted, is_unreadable,
        is_unwilling,        is_impossible,    is_not_now,
    };
    it->verdict = it->client.state == HS_CLIENT_WAITING ? HS_ELIGIBLE_FOR_DAEMON : HS_ELIGIBLE;
    for (size_t i = 0; i < HS_COUNT_OF(rules); i++) {
        enum hs_eligibility_verdict verdict;
        if (rules[i](it, &verdict)) {
            it->verdict = verdict;
            break;
        }
    }
    it->by = find_by(it);
}

void hs_eligibility_check_in(const char *proc, pid_t pid, struct hs_eligibility *ret_it)
{
    hs_eligibility_look(proc, pid, ret_it);
    hs_eligibility_decide(ret_it);
}

void hs_eligibility_check(pid_t pid, struct hs_eligibility *ret_it)
{
    hs_eligibility_check_in("/proc", pid, ret_it);
}
