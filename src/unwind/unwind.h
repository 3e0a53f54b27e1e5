/*
 * Unwinding: from the registers at a call to the chain of callers.
 *
 * The unwinder depends only on its arguments: registers, the bytes of modules, the readable part of
 * the stack, and a cache of rules, which it fills. It returns ids of frames. It uses no globals,
 * calls nothing of libc but memcpy and memset, allocates nothing and takes no lock. So it can run
 * inside malloc, in a signal handler, or outside the target on a copy of its stack.
 *
 * A walk finds each frame in three steps: it looks up the cached rule of the pc (rule_cache.h),
 * applies the rule (arch), and reads the next pc from the stack. When the cache has no rule, the
 * walk asks the `resolve` callback for the module of the pc, and for a 32-bit id of the frame,
 * which the callback may choose freely. The walk then makes the rule from the module's call frame
 * information (cfi.h, rule_make.h), and stores the rule and the id in the cache. So a walk returns
 * ids, and seldom looks at a module: for a pc that is not in the cache, and for one whose rule does
 * not fit the cache (HS_RULE_GENERAL). The client first asks replay.h for the stack, and walks it
 * only when replay does not find it.
 *
 * Threads   a walk writes only to its own hs_walk, its hs_stack_window, and the rule cache.
 * Fails     never: a walk that cannot continue says why in `end`, and keeps what it has found.
 * See       walk.h for the types, docs/UNWINDING.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/regs.h"
#include "unwind/walk.h"

/* Prefetches the rules that a walk from `sp` will probably need. A walk waits for each rule before
 * it knows the next pc. But the outer part of a stack changes little from one walk to the next, so
 * return addresses lie where the last walk found them, and all their rules can be fetched at once.
 * `last`: a walk of this thread, or zeroes. */
void hs_unwind_prefetch(const struct hs_unwinder *unwinder, uint64_t sp,
                        const struct hs_stack_window *window, const struct hs_walk *last);

/* Walks from `start`. `start->pc` is a return address, or, if is_exact, the place that a signal
 * interrupted. `window` is the memory known to be readable at and above start->sp. If both its ends
 * equal start->sp, the walk begins by calling window->extend. */
void hs_unwind_walk(const struct hs_unwinder *unwinder, const struct hs_regs *start, bool is_exact,
                    struct hs_stack_window *window, struct hs_walk *ret_walk);
