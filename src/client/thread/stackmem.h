/*
 * Which stack memory may be read.
 *
 * A thread runs on its own stack nearly always, but also on signal stacks, coroutine stacks, or a
 * stack that is half set up. Reading beyond the end of one of those would kill the program, so the
 * client reads only memory that it knows to exist. Of the thread's own stack it remembers the
 * verified part: from the top (the C library keeps thread-local storage there; for the main thread
 * it says where the stack ends) down to the lowest page seen. That part stays valid as long as the
 * thread runs. Each page of any other stack is verified again at each sample, since it may be
 * unmapped in between. A page is verified by asking the kernel to read from it
 * (hs_sys_is_readable).
 *
 * Holds     every word inside a window that is handed out can be read.
 * Threads   each thread has its own.
 * Fails     a window that cannot be extended ends the walk; the reason is counted.
 */
#pragma once

#include <stdint.h>

#include "client/tables/thread_state.h"
#include "unwind/walk.h"

/* Finds where the main thread's stack ends. Called once, at start. */
void hs_stackmem_init(void);

/* Slow path of hs_stackmem_window: sp is outside the verified part. */
void hs_stackmem_look(struct hs_thread *thread, uint64_t sp, struct hs_stack_window *ret_window);

/* The `extend` of every window; its ctx is the thread. Extends the window to the word at `va`.
 * False: it cannot be read. */
bool hs_stackmem_extend(struct hs_stack_window *window, uint64_t va);

/* --- hot -------------------------------------------------------------------------------------- */

/* The end of the running thread's own stack, if everything from `sp` up to there is known to be
 * readable; otherwise `sp`. */
static inline uint64_t hs_stackmem_own_end(const struct hs_thread *thread, uint64_t sp)
{
    return hs_likely(sp - thread->stack_lo_va < thread->stack_hi_va - thread->stack_lo_va)
               ? thread->stack_hi_va
               : sp;
}

/* The window of readable memory from `sp` up. */
static inline void hs_stackmem_window(struct hs_thread *thread, uint64_t sp,
                                      struct hs_stack_window *ret_window)
{
    ret_window->shift = 0;
    ret_window->extend = hs_stackmem_extend;
    ret_window->ctx = thread;
    ret_window->lo_va = thread->stack_lo_va;
    ret_window->hi_va = thread->stack_hi_va;
    if (hs_unlikely(sp < thread->stack_lo_va || sp >= thread->stack_hi_va)) {
        hs_stackmem_look(thread, sp, ret_window);
    }
}
