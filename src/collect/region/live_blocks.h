/*
 * The blocks of malloc's heap that are recorded and live, with their addresses: for what is told
 * from where blocks are. A trace has no addresses of blocks.
 *
 * The records are read while the process runs on, without a cut: a block that is allocated or freed
 * meanwhile is there or not. Of a process with very many recorded blocks, only those on a sample of
 * pages are kept (util/page_sample.h).
 *
 *     struct hs_live_blocks blocks;
 *     int r = hs_live_blocks_read(region, &blocks);
 *     if (r == 0) {
 *         ... hs_live_block_stack(&blocks.items[i]) ...
 *         hs_live_blocks_deinit(&blocks);
 *     }
 *
 * Ensures   stack ids are those of snapshots of the region, and below stack_count.
 * Trust     the region is hostile: see region_reader.h.
 * Threads   one.
 * Fails     -EPROTO, -errno of reading the region; -ENOMEM; -EFBIG: even the smallest sample has
 *           more than HS_LIVE_BLOCKS_MAX.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/region/region_reader.h"
#include "util/sort_pairs.h"

#define HS_LIVE_BLOCKS_MAX (UINT32_C(1) << 22)

#define HS_LIVE_SIZE_BITS  26U
#define HS_LIVE_SIZE_MAX   ((UINT32_C(1) << HS_LIVE_SIZE_BITS) - 1)
#define HS_LIVE_EXACT      63U /* in place of an interval: the record stands for itself */

struct hs_live_blocks {
    struct hs_pair *items; /* address, and what the functions below read */
    size_t count;
    size_t capacity;
    uint32_t stack_count;
    unsigned page_shift;                          /* of the sample of pages */
    uint64_t interval_bytes[HS_REGION_INTERVALS]; /* by index */
    /* The widest that the heap was sampled at: an allocation of that size or more is recorded. */
    uint64_t widest_bytes;
    /* Every live block of the heap was subject to sampling: none is from before the recording, and
     * no record was lost. */
    bool is_from_startup;
};

static inline uint32_t hs_live_block_stack(const struct hs_pair *block)
{
    return (uint32_t)(block->value >> 32);
}

/* As asked for; HS_LIVE_SIZE_MAX: that or more. */
static inline uint32_t hs_live_block_size(const struct hs_pair *block)
{
    return (uint32_t)block->value & HS_LIVE_SIZE_MAX;
}

/* Index in interval_bytes, or HS_LIVE_EXACT. */
static inline unsigned hs_live_block_interval(const struct hs_pair *block)
{
    return (uint32_t)block->value >> HS_LIVE_SIZE_BITS;
}

static inline uint64_t hs_live_block_pack(uint32_t stack_id, uint64_t size_bytes, unsigned interval)
{
    uint64_t size = size_bytes < HS_LIVE_SIZE_MAX ? size_bytes : HS_LIVE_SIZE_MAX;
    return (uint64_t)stack_id << 32 | (uint64_t)interval << HS_LIVE_SIZE_BITS | size;
}

/* Reads the blocks. Returns 0, or see Fails. */
int hs_live_blocks_read(struct hs_region *region, struct hs_live_blocks *ret_blocks);
/* Frees the array. */
void hs_live_blocks_deinit(struct hs_live_blocks *blocks);
