/*
 * Finds rows of mappings: see mapping_rows.h.
 */
#include "collect/ledger/mapping_rows.h"

#include <errno.h>
#include <stdlib.h>

int hs_mapping_rows_init(const struct hs_address_space *space, struct hs_mapping_rows *ret_rows)
{
    uint64_t *end_va = malloc((space->count + 1) * sizeof(end_va[0]));
    if (!end_va) {
        return -ENOMEM;
    }
    for (size_t i = space->count; i > 0; i--) {
        const struct hs_mapping *mapping = &space->items[i - 1];
        bool is_last = i == space->count || mapping[1].start_va != mapping->end_va;
        end_va[i - 1] = is_last ? mapping->end_va : end_va[i];
    }
    *ret_rows = (struct hs_mapping_rows){ space, end_va };
    return 0;
}

void hs_mapping_rows_deinit(struct hs_mapping_rows *rows)
{
    free(rows->end_va);
    *rows = (struct hs_mapping_rows){ 0 };
}

bool hs_mapping_rows_cover(const struct hs_mapping_rows *rows, uint64_t start_va, uint64_t end_va)
{
    const struct hs_mapping *mapping = hs_address_space_find(rows->space, start_va);
    return mapping && start_va < end_va && end_va <= rows->end_va[mapping - rows->space->items];
}
