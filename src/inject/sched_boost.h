/*
 * A thread that others wait for gets its processor sooner.
 *
 * Where there is more to do than processors, one that wakes up waits until another's time slice is over, some
 * milliseconds, and that for each call that a borrowed thread makes for us, and for each look of ours whether it has
 * come back. So both get a real-time priority where we may give one (root, CAP_SYS_NICE), and elsewhere short time slices
 * (Linux 6.12), for which the kernel lets them in earlier, without more time on the whole.
 *
 * A thread with a real-time priority that spins for a lock may keep the lock's holder from the processor. So it has it
 * for as long as a call takes that nothing holds up, and not longer: who waits for it calls hs_sched_boost_relax then.
 *
 * Holds     a thread that has a policy other than the three ordinary ones is left as it is.
 * Threads   no state.
 * Fails     it stays as it is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How long that is. */
#define HS_SCHED_BOOST_MAX_NS UINT64_C(2000000)

/* What sched_setattr(2) takes; the C library has no header for it, and the kernel's own and <sched.h> exclude each other. */
struct hs_sched_attr {
    uint32_t size_bytes, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns,
        period_ns; /* runtime: of ordinary policies the slice; 0: the kernel's choice */
};

enum hs_sched_boost_who {
    HS_SCHED_BOOST_BORROWED = 1,
    HS_SCHED_BOOST_BORROWER, /* before the other */
};

struct hs_sched_boost {
    bool is_on;               /* something was changed, or will be */
    bool has_slices;          /* known to this kernel */
    struct hs_sched_attr was; /* for sched_setattr(2), also by the thread itself */
};

/* What `tid` (0: the caller) is like; is_on as long as it can boost. */
void hs_sched_boost_look(pid_t tid, struct hs_sched_boost *ret_boost);

void hs_sched_boost_begin(pid_t tid, enum hs_sched_boost_who who,
                          const struct hs_sched_boost *boost);
/* Without real-time priority from now on. */
void hs_sched_boost_relax(pid_t tid, const struct hs_sched_boost *boost);
void hs_sched_boost_end(pid_t tid, const struct hs_sched_boost *boost);
