/*
 * What freeing the blocks of some stacks would give back: of each alone, and of the first one, two,
 * three and so on together.
 *
 * After malloc_trim(0), a page is back with the kernel when no chunk that stays is on it. In arenas
 * other than the main one, malloc_trim leaves the free end alone; free() gives most of it back when
 * it has become long.
 *
 * With strata (pin_table.h) the figures are estimates. Which chunks of a stratum lie beside each
 * other is not known, so the ends of the interval assume the worst and the best.
 *
 * Threads   one.
 * Fails     -ENOMEM.
 */
#pragma once

#include "collect/ledger/pin_table.h"

struct hs_pin_gain {
    uint32_t owners[HS_PIN_STACKS_MAX]; /* the stacks, in the order of the sets */
    uint32_t owner_count;
    struct hs_pin_estimate alone[HS_PIN_STACKS_MAX];
    struct hs_pin_estimate sets[HS_PIN_STACKS_MAX]; /* of the owners up to this one */
};

/* Chooses the stacks that keep most, and computes what freeing them gives back. */
int hs_pin_gain_find(const struct hs_pin_table *table, const struct hs_used_chunks *chunks,
                     struct hs_pin_gain *ret_gain);
