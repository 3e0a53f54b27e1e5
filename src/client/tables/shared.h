/*
 * Updates of data that threads share. They use locked instructions only in a process with several
 * threads.
 *
 * A locked instruction costs 6 ns, and recording and forgetting one block takes seven of them. Most
 * programs never start a second thread, short-lived ones in particular. The C library knows that
 * (__libc_single_threaded, glibc 2.32) and then uses no locked instructions in its own malloc.
 * Neither does the client: a single instruction without the lock prefix is enough against its own
 * signal handlers.
 *
 * Ensures   the C library clears __libc_single_threaded before a second thread can run. (It may set
 *           it again when only one thread is left, which does no harm.)
 * Threads   any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/local.h"
#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/bits.h"

/* Points to the C library's variable, or to a 0 if there is none. */
extern HS_HIDDEN const char *hs_is_single_threaded;

/* Looks the variable up. Called once, at start. */
void hs_shared_init(void);

/* Does the process have a single thread? */
static inline bool hs_shared_is_alone(void)
{
    return hs_likely(hs_load_relaxed(hs_is_single_threaded) != 0);
}

/* Adds `value`. */
static inline void hs_shared_add(uint64_t *ptr, uint64_t value)
{
    if (hs_shared_is_alone()) {
        hs_arch_local_add(ptr, value);
    } else {
        hs_add_relaxed(ptr, value);
    }
}

/* Adds to a word that holds the bits of a double. */
static inline void hs_shared_add_double(uint64_t *ptr, double value)
{
    uint64_t old = hs_load_relaxed(ptr);
    bool is_done = false;
    while (!is_done) {
        uint64_t sum = hs_double_bits(hs_double_of_bits(old) + value);
        is_done = hs_shared_is_alone() ? hs_arch_local_cas(ptr, &old, sum)
                                       : hs_cas_relaxed(ptr, &old, sum);
    }
}

/* Sets bits, and returns the word as it was before. */
static inline uint64_t hs_shared_or(uint64_t *ptr, uint64_t bits)
{
    if (hs_shared_is_alone()) {
        uint64_t before = hs_load_relaxed(ptr);
        hs_arch_local_or(ptr, bits);
        return before;
    }
    return hs_or_relaxed(ptr, bits);
}

/* Keeps only `bits`. */
static inline void hs_shared_and(uint64_t *ptr, uint64_t bits)
{
    if (hs_shared_is_alone()) {
        hs_arch_local_and(ptr, bits);
    } else {
        hs_and_relaxed(ptr, bits);
    }
}

/* Compare-and-swap with the order of hs_cas_acq_rel. False: *expected was not there, and now says
 * what was. */
static inline bool hs_shared_cas(uint64_t *ptr, uint64_t *expected, uint64_t desired)
{
    /* On the processors that we know a plain compare-and-swap is ordered like any load and store of
     * its thread. There is no other thread, and the collector reads through hs_load_acquire. */
    if (hs_shared_is_alone()) {
        return hs_arch_local_cas(ptr, expected, desired);
    }
    /* ORDER shared: as the caller says at its own tag. */
    return hs_cas_acq_rel(ptr, expected, desired);
}
