/*
 * Atomic operations with the memory order in their names, so that a reader never has to decode an
 * argument.
 *
 * This is the only file that spells memory orders. Relaxed is for counters and hints. Every other
 * use is written under an `ORDER <tag>:` comment at both ends and has a row in docs/CONCURRENCY.md;
 * tools/check-order enforces that.
 *
 * The operations work on plain integers (through the compiler's __atomic builtins), because the
 * region that the collector maps consists of plain integers.
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

/* Strong compare-and-swap: true when it swapped. When it fails, *expected receives the value
 * found. */
#define hs_cas_relaxed(ptr, expected, desired)                                                     \
    __atomic_compare_exchange_n((ptr), (expected), (desired), false, __ATOMIC_RELAXED,             \
                                __ATOMIC_RELAXED)
#define hs_cas_acq_rel(ptr, expected, desired)                                                     \
    __atomic_compare_exchange_n((ptr), (expected), (desired), false, __ATOMIC_ACQ_REL,             \
                                __ATOMIC_ACQUIRE)

/* Keeps the compiler (not the processor) from moving memory accesses across it: for a thread and
 * its own signal handlers. */
#define hs_signal_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)
/* Stores made before the fence become visible before stores made after it. */
#define hs_fence_release() __atomic_thread_fence(__ATOMIC_RELEASE)
#define hs_fence_seq_cst() __atomic_thread_fence(__ATOMIC_SEQ_CST)
