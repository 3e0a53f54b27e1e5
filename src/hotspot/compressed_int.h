/*
 * HotSpot's compressed numbers (its name for the form is UNSIGNED5): 1 to 5 bytes, the low bits
 * first. A byte below a limit is the last one; the others count 6 bits further each. Since JDK 20
 * no byte is 0, and every byte is one higher.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rt/cursor.h"

/* The first version whose bytes are never 0. */
#define HS_HOTSPOT_NO_ZERO_MAJOR 20U

/* Reads a number. */
static inline uint32_t hs_compressed_int(struct hs_cursor *c, uint32_t vm_major)
{
    uint32_t excluded = vm_major >= HS_HOTSPOT_NO_ZERO_MAJOR ? 1 : 0;
    uint32_t sum = 0;
    for (unsigned i = 0; i < 5; i++) {
        uint32_t byte = hs_cursor_u8(c);
        if (byte < excluded) {
            c->is_bad = true;
            return 0;
        }
        sum += (byte - excluded) << (6 * i);
        if (byte < 192) {
            break;
        }
    }
    return sum;
}

/* Reads a number with a sign, which is the lowest bit. */
static inline int32_t hs_compressed_signed(struct hs_cursor *c, uint32_t vm_major)
{
    uint32_t value = hs_compressed_int(c, vm_major);
    return (int32_t)((value >> 1) ^ (0 - (value & 1)));
}
