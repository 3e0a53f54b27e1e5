/*
 * The chunks of a heap that keep their pages from being given back: those that the program holds,
 * and those that malloc does not merge with free neighbours. A walk over the heap fills in the
 * arrays; pin_table.h reads them.
 *
 * Chunks are many, so there is a limit: of a heap with more, only those on a sample of pages are
 * kept (util/page_sample.h).
 *
 * Threads   one.
 * Fails     -ENOMEM, or -EFBIG where even the smallest sample has too many. It is kept in `err`:
 *           then chunks are missing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/ledger/residency.h"
#include "util/sort_pairs.h"

#define HS_USED_CHUNKS_MAX (UINT32_C(1) << 22)
/* malloc_trim leaves the words at the start of a free chunk where they are: so a chunk also keeps
 * the page in which these words of its neighbour end. */
#define HS_USED_LINKS_BYTES 48U
/* In the size of a chunk, whose last four bits are 0: it is malloc's own, or its state is not
 * known. */
#define HS_USED_IS_OWN 1U

/* A block with a mapping of its own. */
struct hs_used_large {
    uint64_t start_va, end_va;
    uint64_t resident_bytes;
};

/* A piece of an arena's memory. */
struct hs_used_piece {
    uint64_t start_va, end_va; /* of whole pages */
    bool is_main;              /* of the main arena */
    bool has_top;              /* it ends with the arena's free end */
    bool is_first;             /* of several of its arena: the kernel does not get it back */
    struct hs_residency residency;
};

/* A mapping that contains huge pages. */
struct hs_used_huge {
    uint64_t start_va, end_va;
    uint64_t huge_bytes; /* resident, in huge pages */
};

struct hs_used_chunks {
    struct hs_pair *items; /* address of the chunk; its size with HS_USED_IS_OWN */
    size_t count, capacity;
    size_t count_max;       /* with more, fewer pages are chosen; 0: HS_USED_CHUNKS_MAX */
    struct hs_pair *cached; /* addresses of those among them that are in lists of threads */
    size_t cached_count, cached_capacity;
    struct hs_used_large *large;
    size_t large_count, large_capacity;
    struct hs_used_piece *pieces;
    size_t piece_count, piece_capacity;
    struct hs_used_huge *huge;
    size_t huge_count, huge_capacity;
    unsigned page_shift;   /* of the sample of pages */
    uint64_t last_cluster; /* of pages, in which the last chunk was; at first, none was */
    bool is_last_sampled;
    int err;
};

void hs_used_chunks_add(struct hs_used_chunks *chunks, uint64_t va, uint64_t word);
void hs_used_chunks_add_cached(struct hs_used_chunks *chunks, uint64_t va);
void hs_used_chunks_add_large(struct hs_used_chunks *chunks, const struct hs_used_large *large);
void hs_used_chunks_add_huge(struct hs_used_chunks *chunks, const struct hs_used_huge *huge);
/* Takes over the residency, also when it fails. */
void hs_used_chunks_add_piece(struct hs_used_chunks *chunks, const struct hs_used_piece *piece);
/* Chooses fewer pages, and drops the chunks on the others. */
void hs_used_chunks_thin(struct hs_used_chunks *chunks, unsigned page_shift);
/* Frees the arrays. */
void hs_used_chunks_deinit(struct hs_used_chunks *chunks);
