/*
 * Who keeps which resident page of malloc's arenas: the chunks of a heap, the recorded blocks, and
 * the pages, joined by address.
 *
 *     chunks, in the order of addresses   [A: 48][free  ][A: 48][B: 200][free        ][not sampled]
 *     pages                               |         0         |         1         |      2       |
 *     items: who has chunks on a page      0: A twice, B        1: B                2: stratum 7
 *
 * The owner of a chunk is the stack of its block. A chunk whose block no sample hit belongs to a
 * stratum: all chunks of about one size on pages that are about equally full. The sampled blocks of
 * a stratum tell which shares of it the stacks have (docs/adr/0035-pinned-pages.md).
 *
 * Trust     chunks and blocks come from another process: those that overlap or lie outside of the
 *           pieces are left out.
 * Threads   one.
 * Fails     -ENOMEM; -EFBIG: it would have too many pages.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/ledger/used_chunks.h"
#include "collect/region/live_blocks.h"
#include "trace/pinned_pages.h"

#define HS_PIN_PAGE_BYTES 4096U
#define HS_PIN_PAGES_MAX  (UINT32_C(1) << 20) /* with more, a sample of them is looked at */

/* Nobody whose blocks could be freed. Stacks follow, then strata. */
#define HS_PIN_OWN 0U

/* What one owner has on one page. */
struct hs_pin_item {
    uint32_t owner;
    uint16_t chunk_count;
    uint16_t bytes;
};

struct hs_pin_page {
    uint64_t va;
    uint32_t item_first;
    uint16_t item_count;
    uint16_t used_bytes; /* of chunks that the program holds */
    bool is_cached;      /* it has blocks that are in the lists of threads */
};

struct hs_pin_owner {
    uint32_t stack_id; /* 0 of a stratum */
    double block_count, block_bytes, rounding_bytes;
    /* On nearly empty pages that have no chunk of HS_PIN_OWN: */
    double sparse_page_bytes, sparse_block_bytes;
    /* free bytes there, divided by the number of the page's owners */
    double kept_bytes;
    uint64_t large_bytes; /* resident, in blocks with mappings of their own */
    /* Some of its chunks are merged with free neighbours as soon as they are freed. */
    bool is_merged_at_once;
};

struct hs_pin_stratum {
    uint64_t chunk_count;  /* sampled or not */
    uint32_t sample_count; /* of blocks */
    double weight;         /* what the samples stand for: a number of chunks */
    double weight_var;
    size_t share_first, share_count; /* in shares, after hs_pin_table_make() */
};

/* What a stack has of a stratum. */
struct hs_pin_share {
    uint32_t stratum, owner;
    double weight;
};

struct hs_pin_table {
    bool is_exact;        /* every live block is recorded: there are no strata */
    bool is_from_startup; /* every live block was subject to sampling */
    unsigned page_shift;
    struct hs_pin_page *pages; /* by address; resident ones in the sample */
    size_t page_count, page_capacity;
    size_t *piece_first; /* by piece, and one behind the last: its first page */
    struct hs_pin_item *items;
    size_t item_count, item_capacity;
    struct hs_pin_owner *owners; /* HS_PIN_OWN, stacks, strata */
    size_t owner_count, owner_capacity;
    uint32_t stratum_first; /* the owner that is the first stratum */
    struct hs_pin_stratum *strata;
    size_t stratum_count, stratum_capacity;
    struct hs_pin_share *shares;
    size_t share_count, share_capacity;
    double rounding_bytes, head_bytes;
};

/* Makes the table. Sorts the arrays of `chunks` and `blocks`, and may thin out the chunks. */
int hs_pin_table_make(struct hs_used_chunks *chunks, struct hs_live_blocks *blocks,
                      struct hs_pin_table *ret_table);
/* Frees the arrays. */
void hs_pin_table_deinit(struct hs_pin_table *table);

/* Is it a stratum? Otherwise a stack, or HS_PIN_OWN. */
static inline bool hs_pin_is_stratum(const struct hs_pin_table *table, uint32_t owner)
{
    return owner >= table->stratum_first;
}
