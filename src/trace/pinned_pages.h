/*
 * Pinned pages: which stacks' live blocks keep resident pages of malloc's memory from being given
 * back, at one moment.
 *
 * malloc gives a page back when no live block lies in it. So a small live block keeps (pins) its
 * page, however empty the rest of it is. What freeing all blocks of a stack would give back is
 * counted in addition to what malloc_trim(0) would give back as things are.
 *
 * Figures are exact when each live block is recorded and known (is_exact). From samples they are
 * estimates: each has the ends of an interval that contains the true figure with a probability of
 * about 95 %, whichever blocks lie beside which.
 *
 * This is the interface between collecting and writing, as ledger.h is: src/collect/ledger makes
 * it, src/trace writes it.
 *
 * Threads   none; it belongs to the code that made it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Pages by how much of them is in use: nothing; up to an eighth; ...; more than seven eighths. */
#define HS_PIN_LEVELS 9U
/* A page is nearly empty when at most this much of it is in use: the levels 1 and 2. */
#define HS_PIN_SPARSE_LEVEL 2U
#define HS_PIN_STACKS_MAX   12U

struct hs_pin_estimate {
    uint64_t bytes;
    uint64_t low_bytes, high_bytes;
};

struct hs_pinning_stack {
    uint32_t stack_id; /* of the snapshot */
    /* Its live blocks in malloc's memory, with what malloc adds to each. */
    uint64_t block_count, block_bytes;
    uint64_t rounding_bytes; /* of block_bytes, the program did not ask for these */
    /* Nearly empty pages that it has blocks in, alone or beside other stacks; and its blocks
     * there. */
    uint64_t sparse_page_bytes, sparse_block_bytes;
    /* What freeing its blocks would give back; and those of all stacks up to this one. */
    struct hs_pin_estimate gain, set_gain;
};

struct hs_pinned_pages {
    uint64_t time_mono_ns; /* as in the ledger that was read with it */
    uint64_t cpu_ns;       /* what it took of the reader's CPU time */
    bool is_exact;
    uint32_t page_share; /* one page in so many was looked at, and stands for all */
    /* Resident pages of malloc's arenas. */
    uint64_t page_count[HS_PIN_LEVELS];
    /* The same for huge pages of 2 MiB. Where the kernel does not tell which ranges they are,
     * ranges that may be huge are counted in proportion. */
    uint64_t huge_count[HS_PIN_LEVELS];
    bool is_huge_estimated;
    /* Of malloc's blocks: what the program did not ask for, and of that malloc's own word before
     * each. */
    uint64_t rounding_bytes, head_bytes;
    /* Nearly empty pages with a block whose stack is not known, as it was allocated before the
     * recording; and pages that only blocks in the lists of threads keep. */
    uint64_t unknown_page_bytes, cached_page_bytes;
    struct hs_pinning_stack *stacks; /* those that keep most of nearly empty pages first */
    uint32_t stack_count;
};

/* Returns a copy, or NULL: there is no memory. */
struct hs_pinned_pages *hs_pinned_pages_copy(const struct hs_pinned_pages *pins);
/* Frees it. NULL is allowed. */
void hs_pinned_pages_free(struct hs_pinned_pages *pins);
