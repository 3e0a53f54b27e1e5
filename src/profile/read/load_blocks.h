/*
 * Reads HsBlocks: the live blocks of a dump, one by one.
 *
 * Trust     a file's columns may have any lengths and values; blocks of callstacks without a row
 *           are left out.
 * Threads   one.
 * See       docs/FORMAT.md, trace/writer_blocks.c
 */
#pragma once

#include "profile/read/load_parts.h"

/* The blocks of the open dump of one process. Filled with zeros, it is empty. */
struct hs_load_blocks {
    bool has_blocks; /* the dump lists its blocks */
    uint64_t left_out_count;
    struct hs_profile_block *items;
    size_t count, capacity;
};

/* A dump begins. */
void hs_load_blocks_begin(struct hs_load_blocks *blocks, const Hs__Pb__HsDump *dump);
/* Takes the blocks of a packet; `parts` knows the names of threads and types. */
void hs_load_blocks_add(struct hs_load *load, struct hs_load_blocks *blocks,
                        struct hs_load_parts **parts, const struct hs_load_row_table *table,
                        const Hs__Pb__HsBlocks *packet);
/* Gives the blocks to a dump of the profile, and forgets them. */
void hs_load_blocks_give(struct hs_load *load, struct hs_load_blocks *blocks, uint32_t dump);
/* Frees the blocks. */
void hs_load_blocks_deinit(struct hs_load_blocks *blocks);
