/*
 * Examining each thread's guard. See quiesce.h.
 */
#include "client/life/quiesce.h"

#include <time.h>

#include "client/tables/life_state.h"
#include "client/thread/thread.h"
#include "rt/atomic.h"
#include "rt/check.h"
#include "rt/sys.h"

/* Without the barrier: by then other threads have run this often. */
#define YIELDS 100

/* Is a thread inside our code? Its stack and its thread-local storage may go at any moment. */
static bool is_inside(const struct hs_thread *thread, uint32_t pid)
{
    uint32_t tid = hs_load_relaxed(&thread->owner_tid);
    const struct hs_tls *tls = thread->tls;
    uint64_t guard_va = 0, mark = 0;
    return tls && tid != 0 && hs_sys_thread_exists(pid, tid) &&
           hs_sys_read_word((uintptr_t)&tls->guard_va, &guard_va) && guard_va != 0 &&
           hs_sys_read_word(guard_va, &mark) && mark == (guard_va ^ HS_FRAME_MARKER_KEY);
}

static bool is_any_inside(void)
{
    uint32_t pid = hs_sys_getpid();
    for (const struct hs_thread *thread = hs_thread_first(); thread; thread = thread->next) {
        if (is_inside(thread, pid)) {
            return true;
        }
    }
    return hs_thread_is_any_attaching();
}

static void pass_barrier(void)
{
    if (hs_sys_barrier_of_all()) {
        return;
    }
    for (unsigned i = 0; i < YIELDS; i++) {
        hs_sys_yield();
    }
}

/* Waits without sleeping: the kernel keeps only one note of how long an interrupted system call
 * still has to wait, and the calling thread may have been borrowed in the middle of one. */
bool hs_quiesce_wait(uint64_t max_ns)
{
    uint64_t end_ns = hs_sys_clock_ns(CLOCK_MONOTONIC) + max_ns;
    /* Recording is off: no thread enters. */
    HS_ASSERT(!hs_life_state_is_alive());
    pass_barrier();
    while (is_any_inside()) {
        if (hs_sys_clock_ns(CLOCK_MONOTONIC) >= end_ns) {
            return false;
        }
        hs_sys_yield();
    }
    return true;
}
