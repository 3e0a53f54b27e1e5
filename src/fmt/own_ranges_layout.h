/*
 * The list of anonymous memory that the client has mapped for itself. It lies in the target's
 * memory; the region's header says where.
 *
 * See       fmt/region_layout.h, which includes this; docs/FORMAT.md 2.2
 */
#pragma once

#include <stdint.h>

#define HS_OWN_RANGES 255U

/* Whole pages in the target's memory. */
struct hs_own_range_v2 {
    uint64_t start_va; /* 0: unused */
    uint64_t end_va;   /* not above start_va: it is being written */
};

/* Anonymous memory that the client has mapped for itself: a list of such structures, in the
 * target's memory. */
struct hs_own_ranges_v2 {
    uint64_t next_va; /* 0: this is the last one */
    uint64_t reserved;
    struct hs_own_range_v2 ranges[HS_OWN_RANGES];
};
