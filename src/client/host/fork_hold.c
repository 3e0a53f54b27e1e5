/*
 * Forks in progress, and the thread that holds them. See fork_hold.h.
 */
#include "client/host/fork_hold.h"

#include <stdint.h>
#include <time.h>

#include "client/host/sandbox.h"
#include "rt/atomic.h"
#include "rt/sys.h"

/* How long to wait for forks in progress, which other atfork handlers may delay; and for a thread
 * that holds forks, which needs milliseconds unless it has no processor. */
#define HOLD_MAX_NS UINT64_C(100000000)
#define WAIT_MAX_NS UINT64_C(1000000000)

static uint32_t forking_count; /* forks between our first handler and our last */
static uint32_t is_held;       /* a thread needs that no fork is in progress */

bool hs_fork_hold_begin(void)
{
    uint64_t end_ns = hs_sys_clock_ns(CLOCK_MONOTONIC) + HOLD_MAX_NS;
    hs_store_relaxed(&is_held, 1);
    /* ORDER fork-count: one side sees the other: a thread that counts a fork sees that forks are
     * held, or its count is seen here. */
    hs_fence_seq_cst();
    while (hs_load_relaxed(&forking_count) != 0) {
        if (hs_sys_clock_ns(CLOCK_MONOTONIC) > end_ns) {
            hs_fork_hold_end();
            return false;
        }
        hs_sys_yield();
    }
    return true;
}

void hs_fork_hold_end(void)
{
    /* ORDER fork-hold: what was done meanwhile before the fork that waited for it. */
    hs_store_release(&is_held, 0);
}

/* Under a seccomp filter forks are never held. */
void hs_fork_hold_enter(void)
{
    uint64_t end_ns = 0, now_ns = 0;
    hs_add_relaxed(&forking_count, 1);
    /* ORDER fork-count: as above. */
    hs_fence_seq_cst();
    /* ORDER fork-hold: as above. */
    while (hs_load_acquire(&is_held) && !hs_sandbox_is_tight() && now_ns <= end_ns) {
        hs_sub_relaxed(&forking_count, 1);
        now_ns = hs_sys_clock_ns(CLOCK_MONOTONIC);
        end_ns = end_ns ? end_ns : now_ns + WAIT_MAX_NS;
        hs_sys_yield();
        hs_add_relaxed(&forking_count, 1);
        /* ORDER fork-count: as above. */
        hs_fence_seq_cst();
    }
}

void hs_fork_hold_leave(void)
{
    /* A fork that had begun before the handlers were registered has not been counted. */
    uint32_t count = hs_load_relaxed(&forking_count);
    while (count > 0 && !hs_cas_relaxed(&forking_count, &count, count - 1)) {
    }
}

void hs_fork_hold_reset(void)
{
    forking_count = 0;
    is_held = 0;
}
