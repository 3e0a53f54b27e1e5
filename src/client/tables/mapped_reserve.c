/*
 * Finding reserves of other heaps. See mapped_reserve.h.
 */
#include "client/tables/mapped_reserve.h"

uint32_t hs_mapped_reserve_pieces[1U << HS_RESERVE_PIECES_SHIFT];

HS_COLD void hs_mapped_reserve_note(struct hs_thread *thread, uint64_t va, uint64_t size_bytes)
{
    uint64_t piece = va >> HS_RESERVE_PIECE_SHIFT;
    uint64_t piece_va = piece << HS_RESERVE_PIECE_SHIFT;
    uint64_t old_mask, end_va;
    if (__builtin_add_overflow(va, size_bytes, &end_va) || !hs_mapped_enter(&old_mask)) {
        return;
    }
    hs_mapped_make_reserve(thread, va, end_va);
    if (!hs_mapped_has_block(piece_va, piece_va + (UINT64_C(1) << HS_RESERVE_PIECE_SHIFT))) {
        hs_store_relaxed(hs_mapped_reserve_element(piece), (uint32_t)piece);
    }
    hs_mapped_leave(old_mask);
}

void hs_mapped_reserve_forget(uint64_t start_va, uint64_t end_va)
{
    uint64_t piece = start_va >> HS_RESERVE_PIECE_SHIFT;
    uint64_t last = (end_va - 1) >> HS_RESERVE_PIECE_SHIFT;
    uint64_t count = last - piece + 1;
    uint64_t table_count = UINT64_C(1) << HS_RESERVE_PIECES_SHIFT;
    for (count = count < table_count ? count : table_count; count > 0; count--, piece++) {
        hs_store_relaxed(hs_mapped_reserve_element(piece), 0);
    }
}
