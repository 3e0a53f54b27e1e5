/*
 * Changes and restores scheduling attributes: see sched_boost.h.
 */
#include "inject/ptrace/sched_boost.h"

#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The shortest time slice that the kernel grants. */
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

void hs_sched_boost_look(pid_t tid, struct hs_sched_boost *ret_boost)
{
    struct hs_sched_boost *boost = ret_boost;
    struct hs_sched_attr usual;
    *boost = (struct hs_sched_boost){ .is_on = false };
    boost->is_on = get(tid, &boost->was) == 0 && is_ordinary(boost->was.policy);
    boost->has_slices = boost->is_on && boost->was.runtime_ns > SLICE_NS;
    /* A slice that no program has set is the kernel's default, and follows when that changes. The
     * kernel does not tell whether a slice was set. The slice of init is taken to be the default,
     * so an equal one is restored as the default. */
    if (get(1, &usual) == 0 && usual.runtime_ns == boost->was.runtime_ns) {
        boost->was.runtime_ns = 0;
    }
}

void hs_sched_boost_begin(pid_t tid, enum hs_sched_boost_who role,
                          const struct hs_sched_boost *boost)
{
    struct hs_sched_attr now = boost->was;
    now.policy = SCHED_FIFO;
    now.priority = role;
    now.nice = 0;
    now.runtime_ns = 0;
    if (boost->is_on && set(tid, &now) != 0) {
        hs_sched_boost_relax(tid, boost);
    }
}

void hs_sched_boost_relax(pid_t tid, const struct hs_sched_boost *boost)
{
    struct hs_sched_attr now = boost->was;
    if (boost->has_slices) {
        now.runtime_ns = SLICE_NS;
    }
    if (boost->is_on) {
        set(tid, &now);
    }
}

void hs_sched_boost_end(pid_t tid, const struct hs_sched_boost *boost)
{
    if (boost->is_on) {
        set(tid, &boost->was);
    }
}
