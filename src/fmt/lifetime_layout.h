/*
 * Lifetimes of freed blocks, in the region: the section LIFETIMES, parallel to STACKS.
 *
 * Only a client whose control page has HS_CONTROL_LIFETIMES writes it. Element i is about the
 * blocks of stack i that were freed. Its sums are kept twice, by the parity of the epoch of the
 * *death*, as those of struct hs_stack_v1 are by that of the allocation: see "Totals" in
 * fmt/region_layout.h. A block that a failed realloc puts back is subtracted from the sums of the
 * parity of that moment, so one of the two may have wrapped around; the sum of both has not.
 *
 * A lifetime is the difference of two readings of the coarse clock (4 ms in most kernels). Of a
 * block that was allocated before the client was told to measure, or that a forked process
 * inherited, the lifetime is unknown.
 *
 * A block is *temporary* if the thread that allocated it frees it, after few other allocations of
 * its own from malloc. The client finds these in malloc's heap only. That there was no other
 * allocation at all is known at any interval. How many there were is known where each one is
 * recorded (interval 1).
 *
 * The section's `count` is one more than the highest stack of which a block was freed. Elements
 * below it of which nothing was freed are holes of the file.
 *
 * Trust     as fmt/region_layout.h.
 */
#pragma once

#include <stdint.h>

#include "fmt/totals_layout.h"

/* The lifetimes that begin the classes. From 1 s on they are the ages of trace/heap_parts.h. */
static const uint64_t hs_lifetime_from_ms[] = {
    0, 10, 100, 1000, 10000, 60000, 600000, 3600000, 21600000, 24 * 3600000UL, 7 * 86400000UL,
};
#define HS_LIFETIME_KNOWN   11U
#define HS_LIFETIME_UNKNOWN HS_LIFETIME_KNOWN /* the class of unknown lifetimes */
#define HS_LIFETIME_CLASSES (HS_LIFETIME_KNOWN + 1U)

/* Class 0: no other allocation between that of the block and its end. Class c: at least 2^(c-1)
 * and less than 2^c. */
#define HS_TEMPORARY_CLASSES 8U
#define HS_TEMPORARY_NONE    0xffU

/* Sums of freed blocks, by the deaths of one epoch parity. */
struct hs_lifetime_totals_v2 {
    struct hs_totals_v1 by_lifetime[HS_LIFETIME_CLASSES];
    /* Each class by itself. Above 0, only blocks that were recorded at interval 1. */
    struct hs_totals_v1 temporary[HS_TEMPORARY_CLASSES];
    /* Of the blocks whose lifetimes are known; the bits of doubles. */
    uint64_t byte_ms;  /* sum of weight times lifetime */
    uint64_t count_ms; /* sum of 1/p times lifetime */
    uint64_t
        count_ms_cov; /* sum of (1-p)/p^2 times lifetime: covariance of count_ms and the count */
    uint64_t count_ms_var; /* sum of (1-p)/p^2 times lifetime^2: variance of count_ms */
    uint64_t reserved[4];
};

/* An element of the section. */
struct hs_lifetimes_v2 {
    struct hs_lifetime_totals_v2 totals[2]; /* by the parity of the epoch of the death */
};

_Static_assert(sizeof(hs_lifetime_from_ms) / sizeof(hs_lifetime_from_ms[0]) == HS_LIFETIME_KNOWN,
               "a bound for each class");
_Static_assert(sizeof(struct hs_lifetimes_v2) == 1728, "27 cache lines");

/* The class of a lifetime. */
static inline unsigned hs_lifetime_class(uint64_t lifetime_ms)
{
    unsigned class_ = 0;
    while (class_ + 1 < HS_LIFETIME_KNOWN && lifetime_ms >= hs_lifetime_from_ms[class_ + 1]) {
        class_++;
    }
    return class_;
}

/* The class of a block with so many allocations of its thread between its own and its end;
 * HS_TEMPORARY_NONE: too many. */
static inline unsigned hs_temporary_class(uint32_t between_count)
{
    unsigned class_ = between_count == 0 ? 0 : 32U - (unsigned)__builtin_clz(between_count);
    return class_ < HS_TEMPORARY_CLASSES ? class_ : HS_TEMPORARY_NONE;
}
