/*
 * Which heaps are recorded, and at which intervals: a part of the region's control page.
 *
 * See       fmt/region_layout.h, which includes this; docs/FORMAT.md 2.1
 */
#pragma once

#include <stdint.h>

/* `interval_bytes` of a client without a session: it records nothing. */
#define HS_INTERVAL_OFF UINT64_C(0)
/* Of a heap: the interval of the control page. */
#define HS_INTERVAL_SAME     UINT64_MAX

#define HS_HEAP_NAME_BYTES   64U /* with the NUL */
#define HS_REGION_HEAP_RULES 32U

/* How heaps of some names are recorded. */
struct hs_heap_rule_v2 {
    char pattern[HS_HEAP_NAME_BYTES]; /* * and ? stand for any characters and for one */
    uint64_t interval_bytes;          /* HS_INTERVAL_OFF: not at all; HS_INTERVAL_SAME */
};

/* Which heaps are recorded beside malloc's, and at which intervals. */
struct hs_heap_selection_v2 {
    uint64_t other_interval_bytes; /* of heaps that no rule names; as in a rule */
    uint32_t rule_count;
    uint32_t reserved;
    struct hs_heap_rule_v2 rules[HS_REGION_HEAP_RULES]; /* the first that matches counts */
};
