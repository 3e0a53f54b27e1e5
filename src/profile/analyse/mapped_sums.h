/*
 * The stacks that mapped memory (the heap mmap), with what of it was resident: the ledgers of the
 * selected dumps, added up by stack.
 *
 * Threads   none.
 * Fails     -ENOMEM
 * See       trace/ledger.h
 */
#pragma once

#include "profile/analyse/select.h"

struct hs_mapped_sums {
    struct hs_profile_mapped_stack *stacks; /* those with the most resident bytes first */
    uint32_t stack_count;
    struct hs_profile_mapped_stack all; /* of all of them; no node */
};

/*
 * Adds up the stacks in the newest ledgers of the selected dumps. `node_of` gives each node of the
 * profile another number, which becomes the stack's: stacks with the same one are added up.
 */
int hs_mapped_sums_of(const struct hs_selection *selection, const uint32_t *node_of,
                      struct hs_mapped_sums *ret_sums);
/* Frees the stacks. */
void hs_mapped_sums_deinit(struct hs_mapped_sums *sums);
