/*
 * The owner of each chunk: its block's stack, or a stratum.
 *
 * Threads   one.
 * Fails     -ENOMEM.
 * See       pin_table.h
 */
#pragma once

#include "collect/ledger/pin_table.h"

/* A chunk and its owner, while the table is made. */
struct hs_pin_chunk {
    uint64_t va, end_va;
    uint32_t owner; /* HS_PIN_UNSAMPLED: not known yet */
    uint32_t page;  /* the first page of the table that it lies in; UINT32_MAX: none */
    uint32_t asked_bytes;
    unsigned interval; /* of the block's record */
    bool is_cached;
    bool is_held; /* by the program */
};

#define HS_PIN_UNSAMPLED UINT32_MAX

/* Finds the block of each chunk, and makes owners of their stacks. Both arrays are sorted; chunks
 * that overlap are left out. Returns the number of chunks, or see Fails; the caller frees them. */
int hs_pin_owners_find(const struct hs_used_chunks *chunks, const struct hs_live_blocks *blocks,
                       struct hs_pin_table *table, struct hs_pin_chunk **ret_chunks,
                       size_t *ret_count);

/* Puts the chunks into strata that have no owner yet, once the pages' used_bytes are known. */
int hs_pin_owners_stratify(const struct hs_live_blocks *blocks, struct hs_pin_table *table,
                           struct hs_pin_chunk *chunks, size_t count);
