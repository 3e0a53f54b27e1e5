/*
 * Scheduling attributes, there and back: see hurry.h.
 */
#include "inject/hurry.h"

#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The shortest that the kernel gives. */
#define SLICE_NS 100000U

static int get(pid_t tid, struct hs_sched_attr *ret_attr)
{
    memset(ret_attr, 0, sizeof(*ret_attr));
    return (int)syscall(SYS_sched_getattr, tid, ret_attr, sizeof(*ret_attr), 0);
}

static int set(pid_t tid, const struct hs_sched_attr *attr)
{
    return (int)syscall(SYS_sched_setattr, tid, attr, 0);
}

static bool is_ordinary(uint32_t policy)
{
    return policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE;
}

void hs_hurry_look(pid_t tid, struct hs_hurry *ret_hurry)
{
    struct hs_hurry *hurry = ret_hurry;
    struct hs_sched_attr usual;
    *hurry = (struct hs_hurry){ .is_on = false };
    hurry->is_on = get(tid, &hurry->was) == 0 && is_ordinary(hurry->was.policy);
    hurry->has_slices = hurry->is_on && hurry->was.runtime_ns > SLICE_NS;
    /* A slice that nobody has asked for is the one of the kernel's choice, also when that changes. Whether somebody has,
     * the kernel does not tell; that init has not, we take for granted. */
    if (get(1, &usual) == 0 && usual.runtime_ns == hurry->was.runtime_ns) {
        hurry->was.runtime_ns = 0;
    }
}

void hs_hurry_begin(pid_t tid, enum hs_hurry_who who, const struct hs_hurry *hurry)
{
    struct hs_sched_attr now = hurry->was;
    now.policy = SCHED_FIFO;
    now.priority = who;
    now.nice = 0;
    now.runtime_ns = 0;
    if (hurry->is_on && set(tid, &now) != 0) {
        hs_hurry_relax(tid, hurry);
    }
}

void hs_hurry_relax(pid_t tid, const struct hs_hurry *hurry)
{
    struct hs_sched_attr now = hurry->was;
    if (hurry->has_slices) {
        now.runtime_ns = SLICE_NS;
    }
    if (hurry->is_on) {
        set(tid, &now);
    }
}

void hs_hurry_end(pid_t tid, const struct hs_hurry *hurry)
{
    if (hurry->is_on) {
        set(tid, &hurry->was);
    }
}
