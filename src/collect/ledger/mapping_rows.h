/*
 * Rows of mappings that adjoin each other: which ranges of addresses are mapped without a hole.
 *
 * Threads   none of its own.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stdbool.h>

#include "collect/ledger/address_space.h"

struct hs_mapping_rows {
    const struct hs_address_space *space; /* borrowed */
    uint64_t *end_va;                     /* for each mapping: where the row ends that it is in */
};

int hs_mapping_rows_init(const struct hs_address_space *space, struct hs_mapping_rows *ret_rows);
/* Frees the array. */
void hs_mapping_rows_deinit(struct hs_mapping_rows *rows);

/* Is all of [start_va, end_va) mapped? An empty range is not. */
bool hs_mapping_rows_cover(const struct hs_mapping_rows *rows, uint64_t start_va, uint64_t end_va);
