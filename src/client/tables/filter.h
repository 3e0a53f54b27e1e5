/*
 * The free filter: may this address be a sampled block?
 *
 * Almost every free is of a block that was not sampled, so this test must cost next to nothing. The
 * filter has one bit per 16 bytes of address space, in address order: neighbours in the heap are
 * neighbours in the filter. In front of the bits stands a summary with one bit per KiB. For a heap
 * of 64 MiB the summary takes 16 KiB, stays in the first-level cache, and mostly answers no. A
 * table for the 131072 GiB of user space points to the summary and the bits of each GiB in use.
 * Only touched pages take memory, and address space is reserved as the heap grows, because a
 * program may limit it.
 *
 *   chunk   | summary: 256 KiB                    | bits: 8 MiB                     |
 *           | words: changes << 32 | bit per KiB  | words: a bit per 16 bytes, 1 KiB |
 *
 * A summary bit is cleared when the word of bits that it stands for has become 0. Another thread
 * may set a bit at that moment. Therefore each insert counts a change in the summary's word, and a
 * clearing thread gives up if that word has changed since before it read the bits. A summary bit
 * that stays set only costs a look at the bits.
 *
 * Holds     the bits of a recorded address are set from the end of its insert to the start of its
 *           removal. Bits are exact for allocators that align to 16; for others some bits stay set,
 *           and the live table decides.
 * Threads   any; async-signal-safe.
 * Fails     add returns false when there is no memory for the bitmap; the address is then not
 *           recorded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/shared.h"
#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/check.h"

#define HS_FILTER_VA_BITS       47U
#define HS_FILTER_CHUNK_SHIFT   30U /* a chunk covers 1 GiB, */
#define HS_FILTER_GRAIN_SHIFT   4U  /* a bit 16 bytes, */
#define HS_FILTER_WORD_SHIFT    10U /* a word of bits, and a bit of the summary, 1 KiB, */
#define HS_FILTER_SUMMARY_SHIFT 15U /* and a word of the summary 32 KiB */
#define HS_FILTER_CHUNKS        (1U << (HS_FILTER_VA_BITS - HS_FILTER_CHUNK_SHIFT))
#define HS_FILTER_SUMMARY_WORDS (1U << (HS_FILTER_CHUNK_SHIFT - HS_FILTER_SUMMARY_SHIFT))
#define HS_FILTER_BIT_WORDS     (1U << (HS_FILTER_CHUNK_SHIFT - HS_FILTER_WORD_SHIFT))
/* Each insert adds this to a word of the summary. */
#define HS_FILTER_CHANGE (UINT64_C(1) << 32)

/* The chunks, by GiB of the address; NULL: none there. */
extern HS_HIDDEN uint64_t *hs_filter_chunks[HS_FILTER_CHUNKS];

/* Slow path of hs_filter_prefetch: makes the chunk of an address. NULL: no memory. */
uint64_t *hs_filter_make_chunk(uintptr_t addr);

/* Clears the filter as if no address had ever been added. A test meanwhile may give either
 * answer. */
void hs_filter_clear(void);

/* For assertions: is each bit that is set also in the summary? No thread may use the filter
 * meanwhile. */
bool hs_filter_is_valid(void);

/* For assertions: how many bits are set. */
uint64_t hs_filter_bit_count(void);

/* --- hot -------------------------------------------------------------------------------------- */

/* The offset of an address in its chunk's GiB. */
static inline uint64_t hs_filter_off(uintptr_t addr)
{
    return addr & ((UINT64_C(1) << HS_FILTER_CHUNK_SHIFT) - 1);
}

/* The summary word of an address. */
static inline uint64_t *hs_filter_summary(uint64_t *chunk, uintptr_t addr)
{
    return chunk + (hs_filter_off(addr) >> HS_FILTER_SUMMARY_SHIFT);
}

/* The bit of an address in its summary word. */
static inline uint64_t hs_filter_summary_bit(uintptr_t addr)
{
    return UINT64_C(1) << (addr >> HS_FILTER_WORD_SHIFT & 31);
}

/* The word of bits of an address. */
static inline uint64_t *hs_filter_word(uint64_t *chunk, uintptr_t addr)
{
    return chunk + HS_FILTER_SUMMARY_WORDS + (hs_filter_off(addr) >> HS_FILTER_WORD_SHIFT);
}

/* The bit of an address in its word of bits. */
static inline uint64_t hs_filter_bit(uintptr_t addr)
{
    return UINT64_C(1) << (addr >> HS_FILTER_GRAIN_SHIFT & 63);
}

/* The chunk of an address. NULL: no address in its GiB was ever added. */
static inline uint64_t *hs_filter_chunk(uintptr_t addr)
{
    return hs_unlikely(addr >> HS_FILTER_VA_BITS)
               ? NULL
               : hs_load_relaxed(&hs_filter_chunks[addr >> HS_FILTER_CHUNK_SHIFT]);
}

/* True: `addr` may be a sampled block. False: it is not one. */
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

/* The address will be added soon: makes its chunk if needed, and prefetches both words. */
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

/* Sets the bit of an address; *ret_was_set says whether it was set before. False: the address is
 * out of reach or there was no memory. */
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

/* hs_filter_add_at without an earlier prefetch. */
static inline bool hs_filter_add(uintptr_t addr, bool *ret_was_set)
{
    return hs_filter_add_at(hs_filter_prefetch(addr), addr, ret_was_set);
}

/* Clears the bit of an address that was added. */
static inline void hs_filter_remove(uintptr_t addr)
{
    uint64_t *chunk = hs_load_relaxed(&hs_filter_chunks[addr >> HS_FILTER_CHUNK_SHIFT]);
    uint64_t *bits = hs_filter_word(chunk, addr), *summary = hs_filter_summary(chunk, addr);
    HS_ASSERT(chunk != NULL); /* made when the address was added */
    hs_shared_and(bits, ~hs_filter_bit(addr));
    /* ORDER filter: bits set by threads that changed the summary before are seen below. */
    uint64_t word = hs_load_acquire(summary);
    if (hs_load_relaxed(bits) == 0) {
        hs_shared_cas(summary, &word, word & ~hs_filter_summary_bit(addr));
    }
}
