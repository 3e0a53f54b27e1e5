/*
 * Finding the ranges that are the reserve of another heap: those in which it records a block.
 *
 * After each sample of such a heap, hs_mapped_reserve_may_be_at() is asked. A table says for which
 * pieces of the address space nothing is to be done, so that nearly all samples only read an
 * element of it. hs_mapped_reserve_forget() clears the elements where a block of the heap `mmap` is
 * recorded.
 *
 * Ensures   an element names a piece in which no range has a block.
 * Threads   any, inside the reentry guard. The table is written under the lock of mapped.h.
 * Fails     where the lock cannot be had in time, the next sample tries again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/mapped.h"
#include "client/tables/thread_state.h"
#include "rt/atomic.h"
#include "rt/base.h"

#define HS_RESERVE_PIECE_SHIFT  21U
#define HS_RESERVE_PIECES_SHIFT 13U /* neighbouring pieces of 16 GiB have elements of their own */

/* Another heap has recorded a block of this address and size. */
HS_COLD void hs_mapped_reserve_note(struct hs_thread *thread, uint64_t va, uint64_t size_bytes);

/* A block of the heap `mmap` is recorded at [start_va, end_va). Inside the lock. */
void hs_mapped_reserve_forget(uint64_t start_va, uint64_t end_va);

/* --- hot -------------------------------------------------------------------------------------- */

extern HS_HIDDEN uint32_t hs_mapped_reserve_pieces[1U << HS_RESERVE_PIECES_SHIFT];

static inline uint32_t *hs_mapped_reserve_element(uint64_t piece)
{
    return &hs_mapped_reserve_pieces[piece & ((1U << HS_RESERVE_PIECES_SHIFT) - 1)];
}

/* Must hs_mapped_reserve_note() be called for a block at `va`? */
static inline bool hs_mapped_reserve_may_be_at(uint64_t va)
{
    uint64_t piece = va >> HS_RESERVE_PIECE_SHIFT;
    return hs_mapped_has_any() &&
           hs_load_relaxed(hs_mapped_reserve_element(piece)) != (uint32_t)piece;
}
