/*
 * Which of the eight slots of a cache line have given bits? With SSE2, which every x86-64 has.
 *
 * A loop over the slots ends at a place that no branch predictor can know, and the misprediction is
 * only noticed when a line that was not in the cache has arrived. Here all eight slots are compared
 * at once, and the answer is a number.
 *
 * Bit i of a result stands for slot i. Other threads change the slots meanwhile: an answer is a
 * proposal, and a caller that acts on it reads that slot again.
 *
 * Ensures   a slot that had the bits before the call and keeps them is always in the answer. The
 *           processor loads a vector in pieces of at least eight bytes and in order, and the
 *           barrier keeps the compiler from moving the loads: together they order like
 *           hs_load_acquire.
 */
#pragma once

#include <emmintrin.h>
#include <stdint.h>

/* The loads race with writers by design; a caller that reads a slot again does so atomically. */
#if defined(__clang__)
#define HS_ARCH_RACY __attribute__((no_sanitize("thread")))
#elif defined(__SANITIZE_THREAD__)
#define HS_ARCH_RACY __attribute__((no_sanitize_thread))
#else
#define HS_ARCH_RACY
#endif

/* Compares the low or the high halves of four slots with `want`: four bits. */
#define HS_ARCH_HALVES(slots, which, want)                                                         \
    _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(                                              \
        _mm_castps_si128(_mm_shuffle_ps(_mm_load_ps((const float *)(const void *)(slots)),         \
                                        _mm_load_ps((const float *)(const void *)((slots) + 2)),   \
                                        which)),                                                   \
        want)))

/* The slots whose high half is `high`. `line` is aligned to 64 bytes. */
static inline HS_ARCH_RACY unsigned hs_arch_slots_with_high(const uint64_t *line, uint32_t high)
{
    __m128i want = _mm_set1_epi32((int)high);
    int first = HS_ARCH_HALVES(line, 0xdd, want);
    int second = HS_ARCH_HALVES(line + 4, 0xdd, want);
    __asm__ volatile("" ::: "memory");
    return (unsigned)(first | second << 4);
}

/* The slots whose low half is 0. */
static inline HS_ARCH_RACY unsigned hs_arch_slots_with_low_0(const uint64_t *line)
{
    __m128i want = _mm_setzero_si128();
    int first = HS_ARCH_HALVES(line, 0x88, want);
    int second = HS_ARCH_HALVES(line + 4, 0x88, want);
    __asm__ volatile("" ::: "memory");
    return (unsigned)(first | second << 4);
}
