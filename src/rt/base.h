/*
 * The vocabulary every layer shares: branch hints, visibility, array lengths, alignment.
 *
 * Holds     no state, no function calls; safe anywhere.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define hs_likely(x)   __builtin_expect(!!(x), 1)
#define hs_unlikely(x) __builtin_expect(!!(x), 0)

/* Kept out of line and out of the way of the hot path. */
#define HS_COLD __attribute__((noinline, cold))
/* In the symbol table of a shared object that hides everything else. */
#define HS_EXPORT __attribute__((visibility("default")))
/* On the declaration of a variable of the client: reached without the global offset table. */
#define HS_HIDDEN                        __attribute__((visibility("hidden")))
#define HS_PRINTF(format_idx, first_idx) __attribute__((format(printf, format_idx, first_idx)))

#define HS_COUNT_OF(array)               (sizeof(array) / sizeof((array)[0]))

/* `align` is a power of two. */
static inline uint64_t hs_align_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) & ~(align - 1);
}

static inline uint64_t hs_align_down(uint64_t value, uint64_t align)
{
    return value & ~(align - 1);
}
