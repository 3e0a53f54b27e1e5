/*
 * The stack of a sample: the id that the running thread's stack has in the stack table.
 *
 * Replay comes first (unwind/replay.h): an earlier walk whose stack words have not changed gives
 * the id at once. Otherwise the stack is walked (unwind/unwind.h), interned in the stack table
 * (tables/stacks.h), and kept for the next replay. The walk gets the id of each frame from
 * resolve() in call_stack.c. In a process with a Python interpreter, python_stack.h then puts the
 * functions of Python into the stack.
 *
 * Threads   any, inside the guard (thread.h).
 * Fails     HS_ID_NONE: a table has no room.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/regs.h"
#include "client/patch/script_runtimes.h"
#include "client/thread/script_stack.h"
#include "client/thread/stackmem.h"
#include "client/thread/thread.h"
#include "rt/base.h"
#include "unwind/rule_cache.h"

/* The unwind rules that all threads share. */
extern HS_HIDDEN struct hs_rule_cache hs_call_stack_rules;

/* Called before the first sample in a region. False: no memory for the rule cache. */
bool hs_call_stack_init(void);

/* Forgets all that was learned about code and stacks. No other thread may be recording
 * meanwhile. */
void hs_call_stack_clear(void);

/* Called when modules may have gone: unwind rules and replay paths are derived anew. */
void hs_call_stack_flush(void);

/* Is a function of ours among the callers: does the call come from a function that a hook called?
 * Walks the stack. Inside the guard. */
bool hs_call_stack_has_own(struct hs_thread *thread, const struct hs_regs *regs);

/* Slow path of hs_call_stack_find: the first, fast search did not find the stack. */
uint32_t hs_call_stack_find_slow(struct hs_thread *thread, const struct hs_regs *regs,
                                 uint64_t generation);

/* --- hot -------------------------------------------------------------------------------------- */

/* Called before the real allocation when it is going to be recorded: prefetches the cache lines
 * that the search for its stack reads. */
static inline void hs_call_stack_prefetch(const struct hs_regs *regs)
{
    const struct hs_thread *thread = hs_tls.self;
    if (hs_likely(thread != NULL)) {
        hs_replay_prefetch(&thread->replay, regs);
    }
}

/* hs_call_stack_find for a thread whose is_replaying is not set. */
static inline uint32_t hs_call_stack_find_ordinary(struct hs_thread *thread,
                                                   const struct hs_regs *regs)
{
    HS_ASSERT(!thread->is_replaying);
    thread->is_replaying = true;
    hs_signal_fence();
    uint64_t generation = hs_rule_cache_generation(&hs_call_stack_rules);
    uint32_t id = hs_replay_find_within(&thread->replay, regs,
                                        hs_stackmem_own_end(thread, regs->sp), generation);
    if (hs_likely(id != HS_REPLAY_NONE)) {
        thread->block->replay_count++;
    } else {
        id = hs_call_stack_find_slow(thread, regs, generation);
    }
    if (hs_unlikely(hs_script_runtimes_is_any())) {
        id = hs_script_stack_add(thread, id);
    }
    hs_signal_fence();
    thread->is_replaying = false;
    return id;
}

/* The id of the stack from `regs` on. HS_ID_NONE: there was no room to store it. */
static inline uint32_t hs_call_stack_find(struct hs_thread *thread, const struct hs_regs *regs)
{
    /* A signal handler left replay by longjmp, and the table may be inconsistent. */
    if (hs_unlikely(thread->is_replaying)) {
        hs_thread_forget_replay(thread);
        thread->is_replaying = false;
    }
    return hs_call_stack_find_ordinary(thread, regs);
}
