/*
 * What blocks with equal contents, and blocks that are mostly zero, cost: by place and by type.
 *
 * A group is the blocks whose bytes are equal. Of a group of n blocks of s bytes, (n - 1) * s bytes
 * are extra: so much would be saved if the program kept the contents once. Each of the n blocks has
 * an equal share of them, so that the extra bytes of places, and of types, add up to those of all.
 *
 * A place is the function, and its line, that the stack is named after: the innermost frame that is
 * not of an allocator, a wrapper or a library of the language (hs_agg_headline()).
 *
 * Zero bytes are of three kinds, and no byte is of two: never written (as never_written.h defines
 * it), in blocks that are all 0, and in words of 8 zero bytes of other blocks (sparse).
 *
 * Threads   immutable once built.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/analyse/aggregate.h"

/* A block that was compared. */
struct hs_dupe_block {
    uint64_t block; /* index in the profile's blocks */
    uint32_t group; /* blocks with the same number are equal */
    bool is_zero;   /* each byte is 0, and there is one */
    /* of whole 4096 bytes in a row, from the beginning of the block, that are 0; and of 8 bytes */
    uint64_t zero_page_bytes, zero_word_bytes;
    uint64_t never_written_bytes; /* 0 also where that is not known */
    uint64_t sparse_bytes;        /* of zero words in other pages, if the block is not all 0 */
};

struct hs_dupe_sums {
    uint64_t block_count, bytes;
    uint64_t copied_count, copied_bytes; /* of blocks that have an equal one */
    double extra_bytes;
    double extra_never_written_bytes; /* of the extra bytes: they take no memory */
    uint64_t zero_count, zero_bytes;  /* of blocks that are all 0 */
    uint64_t zero_page_bytes, zero_word_bytes;
    uint64_t never_written_count, never_written_bytes; /* blocks with such bytes */
    uint64_t zero_never_written_bytes;                 /* of blocks that are all 0 */
    uint64_t sparse_bytes;
};

/* Bytes that were never written, or are zero: of blocks that are all 0, or in words of 8 bytes. */
static inline uint64_t hs_dupe_zeros(const struct hs_dupe_sums *sums)
{
    return sums->never_written_bytes + (sums->zero_bytes - sums->zero_never_written_bytes) +
           sums->sparse_bytes;
}

struct hs_dupe_row {
    uint32_t node;  /* by place: of the aggregation; by type: unused */
    uint32_t type;  /* by type: string id, 0: unknown */
    bool is_blamed; /* by place: a frame of the program */
    struct hs_dupe_sums sums;
};

struct hs_dupe_group {
    uint64_t count, size_bytes;
    uint64_t first; /* index in the profile's blocks */
};

struct hs_dupes {
    struct hs_dupe_sums all;
    uint64_t unique_count, unique_bytes;          /* different contents */
    struct hs_dupe_row *places, *types;           /* the most extra bytes first */
    struct hs_dupe_row *zero_places, *zero_types; /* the same, the most zero bytes first */
    uint32_t place_count, type_count;
    struct hs_dupe_group *groups; /* those of several blocks, the most extra bytes first */
    uint32_t group_count;
};

/* Adds up the blocks of the one selected dump; `blocks` is sorted in place. Each element of groups
 * below group_count must occur. Returns 0 or -ENOMEM. */
int hs_dupes_build(const struct hs_selection *selection, const struct hs_agg *agg,
                   struct hs_dupe_block *blocks, uint32_t block_count, uint32_t group_count,
                   struct hs_dupes *ret_dupes);
/* Frees the arrays. */
void hs_dupes_deinit(struct hs_dupes *dupes);
