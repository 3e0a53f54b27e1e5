/*
 * The size classes of a pool's blocks, in units of 16 bytes: 1 to 32 units exactly, and above them
 * four classes up to each power of two, so that at most a quarter of a block is unused.
 *
 * Holds     hs_pool_class_units(hs_pool_class_of(units)) >= units.
 */
#pragma once

#include <stdint.h>

#include "rt/bits.h"
#include "rt/check.h"

#define HS_POOL_UNIT_BYTES  16U
#define HS_POOL_UNITS_EXACT 32U
/* Blocks up to 4 MiB, a quarter of the largest chunk: 2^18 units, which are 13 times twice 2^5. */
#define HS_POOL_CLASSES (HS_POOL_UNITS_EXACT + 13U * 4U + 1U)

/* The units of a block of this class. */
static inline uint32_t hs_pool_class_units(uint32_t class_id)
{
    if (class_id <= HS_POOL_UNITS_EXACT) {
        return class_id;
    }
    uint32_t above = class_id - HS_POOL_UNITS_EXACT - 1;
    return (HS_POOL_UNITS_EXACT << above / 4) +
           (above % 4 + 1) * (HS_POOL_UNITS_EXACT / 4 << above / 4);
}

/* The smallest class whose blocks have at least this number of units, which is not 0. */
static inline uint32_t hs_pool_class_of(uint32_t units)
{
    uint32_t class_id = units;
    if (units > HS_POOL_UNITS_EXACT) {
        uint32_t doublings = hs_log2_floor(units - 1) - hs_log2_floor(HS_POOL_UNITS_EXACT);
        uint32_t quarter = (units - 1 - (HS_POOL_UNITS_EXACT << doublings)) /
                           (HS_POOL_UNITS_EXACT / 4 << doublings);
        class_id = HS_POOL_UNITS_EXACT + 1 + doublings * 4 + quarter;
    }
    HS_ASSERT(class_id < HS_POOL_CLASSES && hs_pool_class_units(class_id) >= units);
    return class_id;
}
