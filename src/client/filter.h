/*
 * The free filter: is this address perhaps a sampled block?
 *
 * Almost every free is of a block we never recorded, so the question must cost nothing. One bit per
 * 16 bytes of address space, in address order: neighbours in the heap are neighbours here, so the
 * filter is in the cache when the heap is. A table of the 131072 GiB of user space points to one
 * 8 MiB bitmap per GiB in use; only touched pages of either take memory, and address space is
 * reserved as the heap grows (a program may limit it).
 *
 * Holds     the bit of a recorded address is set from the end of its insert to the start of its
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

#define HS_FILTER_VA_BITS     47U
#define HS_FILTER_CHUNK_SHIFT 30U /* a bitmap covers 1 GiB */
#define HS_FILTER_GRAIN_SHIFT 4U  /* a bit covers 16 bytes */
#define HS_FILTER_CHUNKS      (1U << (HS_FILTER_VA_BITS - HS_FILTER_CHUNK_SHIFT))

extern HS_HIDDEN uint64_t *hs_filter_chunks[HS_FILTER_CHUNKS];

/* Makes the bitmap of an address; NULL when it cannot be had. Cold half of hs_filter_add. */
uint64_t *hs_filter_make_chunk(uintptr_t addr);

/* --- hot ------------------------------------------------------------------------------------- */

static inline uint64_t *hs_filter_word(uint64_t *chunk, uintptr_t addr)
{
    uint64_t grain = (addr >> HS_FILTER_GRAIN_SHIFT) &
                     ((1U << (HS_FILTER_CHUNK_SHIFT - HS_FILTER_GRAIN_SHIFT)) - 1);
    return chunk + grain / 64;
}

static inline bool hs_filter_test(uintptr_t addr)
{
    if (hs_unlikely(addr >> HS_FILTER_VA_BITS)) {
        return false;
    }
    uint64_t *chunk = hs_load_relaxed(&hs_filter_chunks[addr >> HS_FILTER_CHUNK_SHIFT]);
    if (hs_likely(!chunk)) {
        return false;
    }
    return hs_load_relaxed(hs_filter_word(chunk, addr)) >> (addr >> HS_FILTER_GRAIN_SHIFT & 63) & 1;
}

/* Sets the bit; *ret_was_set says whether it stood already. */
static inline bool hs_filter_add(uintptr_t addr, bool *ret_was_set)
{
    if (hs_unlikely(addr >> HS_FILTER_VA_BITS)) {
        return false;
    }
    uint64_t *chunk = hs_load_relaxed(&hs_filter_chunks[addr >> HS_FILTER_CHUNK_SHIFT]);
    if (hs_unlikely(!chunk)) {
        chunk = hs_filter_make_chunk(addr);
        if (!chunk) {
            return false;
        }
    }
    uint64_t bit = UINT64_C(1) << (addr >> HS_FILTER_GRAIN_SHIFT & 63);
    *ret_was_set = (hs_shared_or(hs_filter_word(chunk, addr), bit) & bit) != 0;
    return true;
}

/* Only for addresses that were added. */
static inline void hs_filter_remove(uintptr_t addr)
{
    uint64_t *chunk = hs_load_relaxed(&hs_filter_chunks[addr >> HS_FILTER_CHUNK_SHIFT]);
    hs_shared_and(hs_filter_word(chunk, addr),
                  ~(UINT64_C(1) << (addr >> HS_FILTER_GRAIN_SHIFT & 63)));
}
