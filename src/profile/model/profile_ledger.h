/*
 * What a profile knows of resident memory: the ledger of a process, and the stacks whose blocks
 * keep pages. Parts of struct hs_profile: see profile.h, which includes this.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/ledger.h"
#include "trace/pinned_pages.h"

/* A part of the resident memory of a process. */
struct hs_profile_ledger_line {
    uint32_t kind;  /* enum hs_ledger_kind of trace/ledger.h */
    uint32_t name;  /* string id: of a module, file or thread; 0 none */
    uint64_t count; /* of chunks of malloc, threads or mappings */
    uint64_t size_bytes;
    uint64_t rss_bytes, pss_bytes, swap_bytes;
    struct hs_ledger_blocks blocks; /* of an allocator: what of it is in recorded live blocks */
    uint64_t rss_margin_bytes;      /* trace/ledger.h */
};

/* What the resident memory of a process consisted of, at one moment: trace/ledger.h. */
struct hs_profile_ledger {
    uint64_t time_ns;
    uint64_t rss_bytes, pss_bytes, swap_bytes; /* of all lines */
    uint64_t page_table_bytes;                 /* not part of rss_bytes */
    uint64_t hugetlb_bytes;                    /* nor are these, in huge pages of a pool */
    uint32_t malloc_result;                    /* enum hs_ledger_malloc of trace/ledger.h */
    uint32_t arena_count;
    bool is_free_cut;
    uint64_t trim_bytes, trim_margin_bytes;
    uint32_t malloc_part_share;     /* trace/ledger.h; at least 1 */
    uint32_t line_first, lines_n;   /* in ledger_lines[] */
    uint32_t stack_first, stacks_n; /* in mapped_stacks[] */
};

/* What a stack of the heap mmap had mapped when a ledger was read: as struct hs_ledger_stack of
 * trace/ledger.h. */
struct hs_profile_mapped_stack {
    uint32_t node;
    uint64_t count; /* of ranges */
    uint64_t size_bytes, rss_bytes, swap_bytes;
};

/* A stack whose live blocks keep pages: as struct hs_pinning_stack of trace/pinned_pages.h. */
struct hs_profile_pin {
    uint32_t node;
    uint64_t block_count, block_bytes, rounding_bytes;
    uint64_t sparse_page_bytes, sparse_block_bytes;
    struct hs_pin_estimate gain, set_gain;
};

/* Which stacks' live blocks keep resident pages of malloc's memory: trace/pinned_pages.h. */
struct hs_profile_pins {
    uint64_t time_ns;
    bool is_exact;
    uint32_t page_share; /* one page in so many was looked at; at least 1 */
    uint64_t page_count[HS_PIN_LEVELS], huge_count[HS_PIN_LEVELS];
    bool is_huge_estimated;
    uint64_t rounding_bytes, head_bytes;
    uint64_t unknown_page_bytes, cached_page_bytes;
    struct hs_profile_pin stacks[HS_PIN_STACKS_MAX];
    uint32_t stack_count;
};
