/*
 * The free filter: is this address perhaps a sampled block?
 *
 * Almost every free is of a block we never recorded, so the question must cost nothing. One bit per
 * 16 bytes of address space, in address order: neighbours in the heap are neighbours here. In front of
 * it stands a summary, one bit per KiB: of a heap of 64 MiB it is 16 KiB, stays in the first cache,
 * and mostly says no. A table of the 131072 GiB of user space points to summary and bits of each GiB
 * in use; only touched pages of either take memory, and address space is reserved as the heap grows (a
 * program may limit it).
 *
 *   chunk   | summary: 256 KiB                    | bits: 8 MiB                     |
 *           | words: changes << 32 | bit per KiB  | words: a bit per 16 bytes, 1 KiB |
 *
 * A summary bit is cleared when the word of bits it stands for has become 0. Somebody may set one at
 * that very moment; so each insert counts a change in the summary's word, and who clears gives up if
 * that word is not what it was before the look at the bits. A summary bit that stays costs a look.
 *
 * Holds     the bits of a recorded address are set from the end of its insert to the start of its
 *           removal. Bits are exact for allocators that align to 16; of others some stay set, and
 *           the live table has the last word.
 * Threads   any; async-signal-safe.
 * Fails     add returns false when the bitmap cannot be had; the address is then not recorded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/shared.h"
#include "rt/atomic.h"
#include "rt/base.h"

#define HS_FILTER_VA_BITS       47U
#define HS_FILTER_CHUNK_SHIFT   30U /* a chunk covers 1 GiB, */
#define HS_FILTER_GRAIN_SHIFT   4U  /* a bit 16 bytes, */
#define HS_FILTER_WORD_SHIFT    10U /* a word of bits, and a bit of the summary, 1 KiB, */
#define HS_FILTER_SUMMARY_SHIFT 15U /* and a word of the summary 32 KiB */
#define HS_FILTER_CHUNKS        (1U << (HS_FILTER_VA_BITS - HS_FILTER_CHUNK_SHIFT))
#define HS_FILTER_SUMMARY_WORDS (1U << (HS_FILTER_CHUNK_SHIFT - HS_FILTER_SUMMARY_SHIFT))
#define HS_FILTER_BIT_WORDS     (1U << (HS_FILTER_CHUNK_SHIFT - HS_FILTER_WORD_SHIFT))
/* Added to a word of the summary by each insert. */
#define HS_FILTER_CHANGE (UINT64_C(1) << 32)

extern HS_HIDDEN uint64_t *hs_filter_chunks[HS_FILTER_CHUNKS];

/* Makes the chunk of an address; NULL when it cannot be had. Cold half of hs_filter_prefetch. */
uint64_t *hs_filter_make_chunk(uintptr_t addr);

/* No address was ever added. Those who look meanwhile are told one or the other. */
void hs_filter_clear(void);

/* --- hot ------------------------------------------------------------------------------------- */

static inline uint64_t hs_filter_off(uintptr_t addr)
{
    return addr & ((UINT64_C(1) << HS_FILTER_CHUNK_SHIFT) - 1);
}

static inline uint64_t *hs_filter_summary(uint64_t *chunk, uintptr_t addr)
{
    return chunk + (hs_filter_off(addr) >> HS_FILTER_SUMMARY_SHIFT);
}

static inline uint64_t hs_filter_summary_bit(uintptr_t addr)
{
    return UINT64_C(1) << (addr >> HS_FILTER_WORD_SHIFT & 31);
}

static inline uint64_t *hs_filter_word(uint64_t *chunk, uintptr_t addr)
{
    return chunk + HS_FILTER_SUMMARY_WORDS + (hs_filter_off(addr) >> HS_FILTER_WORD_SHIFT);
}

static inline uint64_t hs_filter_bit(uintptr_t addr)
{
    return UINT64_C(1) << (addr >> HS_FILTER_GRAIN_SHIFT & 63);
}

/* NULL: nothing there was ever added. */
static inline uint64_t *hs_filter_chunk(uintptr_t addr)
{
    return hs_unlikely(addr >> HS_FILTER_VA_BITS)
               ? NULL
               : hs_load_relaxed(&hs_filter_chunks[addr >> HS_FILTER_CHUNK_SHIFT]);
}

static inline bool hs_filter_test(uintptr_t addr)
{
    uint64_t *chunk = hs_filter_chunk(addr);
    return hs_unlikely(chunk != NULL) &&
           hs_unlikely(hs_load_relaxed(hs_filter_summary(chunk, addr)) &
                       hs_filter_summary_bit(addr)) &&
           (hs_load_relaxed(hs_filter_word(chunk, addr)) & hs_filter_bit(addr)) != 0;
}

/* The two words of an address. */
struct hs_filter_slot {
    uint64_t *summary; /* NULL: out of reach */
    uint64_t *word;
};

/* The address will be added soon: what that changes may come. */
static inline __attribute__((always_inline)) struct hs_filter_slot
hs_filter_prefetch(uintptr_t addr)
{
    struct hs_filter_slot slot = { NULL, NULL };
    uint64_t *chunk = hs_filter_chunk(addr);
    if (hs_unlikely(!chunk) && addr >> HS_FILTER_VA_BITS == 0) {
        chunk = hs_filter_make_chunk(addr);
    }
    if (hs_likely(chunk != NULL)) {
        slot.summary = hs_filter_summary(chunk, addr);
        slot.word = hs_filter_word(chunk, addr);
        __builtin_prefetch(slot.summary, 1);
        __builtin_prefetch(slot.word, 1);
    }
    return slot;
}

/* Sets the bit; *ret_was_set says whether it stood already. */
static inline __attribute__((always_inline)) bool
hs_filter_add_at(struct hs_filter_slot slot, uintptr_t addr, bool *ret_was_set)
{
    if (hs_unlikely(!slot.summary)) {
        return false;
    }
    uint64_t bit = hs_filter_bit(addr), summary_bit = hs_filter_summary_bit(addr);
    *ret_was_set = (hs_shared_or(slot.word, bit) & bit) != 0;
    uint64_t word = hs_load_relaxed(slot.summary);
    /* ORDER filter: the bit before the change that tells of it. */
    while (!hs_shared_cas(slot.summary, &word, (word | summary_bit) + HS_FILTER_CHANGE)) {
    }
    return true;
}

static inline bool hs_filter_add(uintptr_t addr, bool *ret_was_set)
{
    return hs_filter_add_at(hs_filter_prefetch(addr), addr, ret_was_set);
}

/* Only for addresses that were added. */
static inline void hs_filter_remove(uintptr_t addr)
{
    uint64_t *chunk = hs_load_relaxed(&hs_filter_chunks[addr >> HS_FILTER_CHUNK_SHIFT]);
    uint64_t *bits = hs_filter_word(chunk, addr), *summary = hs_filter_summary(chunk, addr);
    hs_shared_and(bits, ~hs_filter_bit(addr));
    /* ORDER filter: bits set by who changed the summary before are seen below. */
    uint64_t word = hs_load_acquire(summary);
    if (hs_load_relaxed(bits) == 0) {
        hs_shared_cas(summary, &word, word & ~hs_filter_summary_bit(addr));
    }
}
