/*
 * Does memory still hold four words that do not lie side by side? With SSE2, which every x86-64
 * has.
 *
 * Two words are loaded into one register, one load each, and compared at once; the outcome is
 * accumulated until the last group. That takes fourteen instructions for a group with its loop;
 * scalar code takes nineteen and a fifth more time. This is not left to the compiler: gcc 12 turns
 * a plain loop into vectors too, but then needs ten instructions to get at the result.
 */
#pragma once

#include <emmintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define HS_ARCH_WORDS 4U

/* Offsets and expected words together, so that one pointer leads through many groups. */
struct hs_arch_words {
    _Alignas(16) uint64_t expected[HS_ARCH_WORDS];
    uint32_t offs[HS_ARCH_WORDS]; /* where each word was: bytes above a base */
};

/* All ones: words i and i + 1 are as expected. */
static inline __m128i hs_arch_words_pair(const struct hs_arch_words *words, unsigned i,
                                         uint64_t base)
{
    const void *first = (const void *)(uintptr_t)(base + words->offs[i]);
    const void *second = (const void *)(uintptr_t)(base + words->offs[i + 1]);
    __m128 both = _mm_loadh_pi(_mm_castsi128_ps(_mm_loadl_epi64(first)), second);
    return _mm_cmpeq_epi32(_mm_castps_si128(both),
                           _mm_load_si128((const void *)&words->expected[i]));
}

/* Are all words of the groups from `words` to `end` (at least one group) still above `base`? They
 * may be unaligned. All groups are compared to the last: a test for each group would be a fifth
 * more instructions. */
static inline bool hs_arch_words_are_at(const struct hs_arch_words *words,
                                        const struct hs_arch_words *end, uint64_t base)
{
    __m128i all = _mm_set1_epi32(-1);
    do {
        all = _mm_and_si128(all, hs_arch_words_pair(words, 0, base));
        all = _mm_and_si128(all, hs_arch_words_pair(words, 2, base));
    } while (++words != end);
    return _mm_movemask_epi8(all) == 0xffff;
}
