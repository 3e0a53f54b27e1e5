/*
 * What all layers share: branch hints, visibility, array lengths, alignment.
 *
 * Ensures   no state, no function calls; safe anywhere.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define hs_likely(x)   __builtin_expect(!!(x), 1)
#define hs_unlikely(x) __builtin_expect(!!(x), 0)

/* Keeps a function out of line and away from the hot path. */
#define HS_COLD __attribute__((noinline, cold))
/* Exports a symbol from a shared object that hides all others. */
#define HS_EXPORT __attribute__((visibility("default")))
/* On the declaration of a variable of the client: code reaches it without the global offset
 * table. */
#define HS_HIDDEN                        __attribute__((visibility("hidden")))
#define HS_PRINTF(format_idx, first_idx) __attribute__((format(printf, format_idx, first_idx)))

/* Is the code built for ThreadSanitizer? */
#if defined(__SANITIZE_THREAD__)
#define HS_IS_TSAN 1
#elif defined(__has_feature)
#define HS_IS_TSAN (__has_feature(thread_sanitizer))
#else
#define HS_IS_TSAN 0
#endif

#define HS_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Rounds up to a multiple of `align`, a power of two. */
static inline uint64_t hs_align_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) & ~(align - 1);
}

/* Rounds down to a multiple of `align`, a power of two. */
static inline uint64_t hs_align_down(uint64_t value, uint64_t align)
{
    return value & ~(align - 1);
}
