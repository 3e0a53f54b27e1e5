/*
 * Makes a thread that others wait for get a processor sooner.
 *
 * Where more threads are runnable than there are processors, a thread that wakes up waits until the
 * time slice of another one is over, some milliseconds. That would happen at each call that a
 * borrowed thread makes for heapscope, and at each look of heapscope whether the call has returned.
 * So both threads get a real-time priority where heapscope may give one (root, CAP_SYS_NICE).
 * Elsewhere they get short time slices (Linux 6.12), for which the kernel schedules them earlier,
 * without more processor time in total.
 *
 * A thread with a real-time priority that spins for a lock may keep the lock's holder from the
 * processor. So it keeps the priority only for as long as an undisturbed call takes,
 * HS_SCHED_BOOST_MAX_NS. After that, the thread that waits for it calls hs_sched_boost_relax.
 *
 * Ensures   a thread with a scheduling policy other than the three ordinary ones is left unchanged.
 * Threads   no state.
 * Fails     the thread stays as it is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How long a real-time priority lasts at most. */
#define HS_SCHED_BOOST_MAX_NS UINT64_C(2000000)

/* The argument of sched_setattr(2). The C library has no header for it, and the kernel's header and
 * <sched.h> exclude each other. */
struct hs_sched_attr {
    uint32_t size_bytes, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns,
        period_ns; /* runtime_ns: for ordinary policies the time slice; 0: the kernel chooses */
};

enum hs_sched_boost_who {
    HS_SCHED_BOOST_BORROWED = 1,
    HS_SCHED_BOOST_BORROWER, /* scheduled before the borrowed thread */
};

struct hs_sched_boost {
    bool is_on;      /* the boost applies to this thread */
    bool has_slices; /* this kernel supports time slices */
    /* the attributes to restore; the thread's own return chain uses them too */
    struct hs_sched_attr was;
};

/* Reads the attributes of `tid` (0: the caller). is_on then says whether the thread can be
 * boosted. */
void hs_sched_boost_look(pid_t tid, struct hs_sched_boost *ret_boost);

/* Gives `tid` a real-time priority, or a short time slice where that is not allowed. */
void hs_sched_boost_begin(pid_t tid, enum hs_sched_boost_who role,
                          const struct hs_sched_boost *boost);
/* Takes the real-time priority back; a short time slice stays. */
void hs_sched_boost_relax(pid_t tid, const struct hs_sched_boost *boost);
/* Restores the attributes that hs_sched_boost_look has read. */
void hs_sched_boost_end(pid_t tid, const struct hs_sched_boost *boost);
