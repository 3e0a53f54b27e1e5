/*
 * The sums that a file has of the freed blocks of a callstack: HsLifetimes.what.
 *
 * Sums by lifetime add up to all blocks that were freed. Temporary blocks are counted in them, and
 * once more by themselves.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/lifetime_layout.h"

/* The sums by lifetime: as the classes of fmt/lifetime_layout.h. */
#define HS_LIFETIME_SUM_UNKNOWN HS_LIFETIME_UNKNOWN
/* The first of those of temporary blocks. */
#define HS_LIFETIME_SUM_TEMPORARY 16U
#define HS_LIFETIME_SUM_END       (HS_LIFETIME_SUM_TEMPORARY + HS_TEMPORARY_CLASSES)
/* Not in files, but in a profile: sums of times. */
#define HS_LIFETIME_SUM_TIMES 32U

/* How many there are at most. */
#define HS_LIFETIME_SUMS_N (HS_LIFETIME_CLASSES + HS_TEMPORARY_CLASSES)

_Static_assert(HS_LIFETIME_CLASSES <= HS_LIFETIME_SUM_TEMPORARY &&
                   HS_LIFETIME_SUM_END <= HS_LIFETIME_SUM_TIMES,
               "all apart");

/* Is there such a sum in files? */
static inline bool hs_lifetime_sum_is_known(uint32_t what)
{
    return what < HS_LIFETIME_CLASSES ||
           (what >= HS_LIFETIME_SUM_TEMPORARY && what < HS_LIFETIME_SUM_END);
}
