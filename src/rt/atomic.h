/*
 * Atomics with the memory order in the name, so that a reader never decodes an argument.
 *
 * The only file that spells memory orders. Relaxed is for counters and hints. Everything else is
 * written under an `ORDER <tag>:` comment at both ends, and has a row in docs/CONCURRENCY.md;
 * tools/check-order enforces that.
 *
 * They work on plain integers (through the compiler's __atomic builtins), because the region that
 * the collector maps is made of plain integers.
 */
#pragma once

#include <stdbool.h>

#define hs_load_relaxed(ptr)         __atomic_load_n((ptr), __ATOMIC_RELAXED)
#define hs_load_acquire(ptr)         __atomic_load_n((ptr), __ATOMIC_ACQUIRE)
#define hs_store_relaxed(ptr, value) __atomic_store_n((ptr), (value), __ATOMIC_RELAXED)
#define hs_store_release(ptr, value) __atomic_store_n((ptr), (value), __ATOMIC_RELEASE)
#define hs_add_relaxed(ptr, value)   __atomic_fetch_add((ptr), (value), __ATOMIC_RELAXED)
#define hs_sub_relaxed(ptr, value)   __atomic_fetch_sub((ptr), (value), __ATOMIC_RELAXED)
#define hs_or_relaxed(ptr, value)    __atomic_fetch_or((ptr), (value), __ATOMIC_RELAXED)
#define hs_and_relaxed(ptr, value)   __atomic_fetch_and((ptr), (value), __ATOMIC_RELAXED)
#define hs_add_acq_rel(ptr, value)   __atomic_fetch_add((ptr), (value), __ATOMIC_ACQ_REL)
#define hs_add_seq_cst(ptr, value)   __atomic_fetch_add((ptr), (value), __ATOMIC_SEQ_CST)
#define hs_swap_relaxed(ptr, value)  __atomic_exchange_n((ptr), (value), __ATOMIC_RELAXED)
#define hs_swap_acq_rel(ptr, value)  __atomic_exchange_n((ptr), (value), __ATOMIC_ACQ_REL)

/* Strong compare-and-swap; *expected receives the value found when it fails. */
#define hs_cas_relaxed(ptr, expected, desired)                                                     \
    __atomic_compare_exchange_n((ptr), (expected), (desired), false, __ATOMIC_RELAXED,             \
                                __ATOMIC_RELAXED)
#define hs_cas_acq_rel(ptr, expected, desired)                                                     \
    __atomic_compare_exchange_n((ptr), (expected), (desired), false, __ATOMIC_ACQ_REL,             \
                                __ATOMIC_ACQUIRE)

/* Keeps the compiler (not the CPU) from moving memory accesses: for a thread and its own signal
 * handlers. */
#define hs_signal_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)
/* What was stored before stays before what is stored after. */
#define hs_fence_release() __atomic_thread_fence(__ATOMIC_RELEASE)
#define hs_fence_seq_cst() __atomic_thread_fence(__ATOMIC_SEQ_CST)
