/*
 * Noting and forgetting arenas. See python_arenas.h.
 */
#include "client/tables/python_arenas.h"

#include "rt/check.h"

#define PIECE_SHIFT 18U

/* A collector reads whole pages. */
_Alignas(4096) struct hs_python_arenas_v2 hs_python_arenas;
bool hs_python_arenas_has_any;

static uint64_t *element_of(uint64_t piece)
{
    return &hs_python_arenas.va[piece % HS_PYTHON_ARENAS];
}

void hs_python_arenas_note(uint64_t va)
{
    uint64_t *element = element_of(va >> PIECE_SHIFT);
    if (hs_load_relaxed(element) >> PIECE_SHIFT != va >> PIECE_SHIFT) {
        hs_store_relaxed(element, va);
        hs_store_relaxed(&hs_python_arenas_has_any, true);
    }
    HS_ASSERT(element_of(hs_load_relaxed(element) >> PIECE_SHIFT) == element);
}

HS_COLD void hs_python_arenas_forget(uint64_t start_va, uint64_t len_bytes)
{
    uint64_t piece = start_va >> PIECE_SHIFT;
    uint64_t count = (len_bytes >> PIECE_SHIFT) + 2;
    for (count = count < HS_PYTHON_ARENAS ? count : HS_PYTHON_ARENAS; count > 0; count--, piece++) {
        uint64_t *element = element_of(piece);
        if (hs_load_relaxed(element) - start_va < len_bytes) {
            hs_store_relaxed(element, 0);
        }
    }
}
