/*
 * Reads HsBlocks: see load_blocks.h.
 */
#include "profile/read/load_blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/block_weight.h"
#include "util/array.h"
#include "util/saturate.h"

/* Where the elements of a packet are. */
struct place {
    size_t at;
    uint64_t address;
    int64_t thread, birth_ms;
};

void hs_load_blocks_begin(struct hs_load_blocks *blocks, const Hs__Pb__HsDump *dump)
{
    blocks->has_blocks = dump->has_blocks;
    blocks->left_out_count = dump->block_left_out_count;
    blocks->count = 0;
}

void hs_load_blocks_deinit(struct hs_load_blocks *blocks)
{
    free(blocks->items);
    *blocks = (struct hs_load_blocks){ .items = NULL };
}

/* What a block stands for: HsBlocks in heapscope.proto. */
static void weigh(const Hs__Pb__HsBlocks *packet, size_t i, struct hs_profile_block *block)
{
    uint32_t hits = i < packet->n_hits ? packet->hits[i] : 0;
    uint32_t interval = i < packet->n_interval ? packet->interval[i] : 0;
    uint64_t interval_bytes =
        interval < packet->n_interval_bytes ? packet->interval_bytes[interval] : 0;
    block->bytes = (double)block->size_bytes;
    block->count = 1;
    if (hits > 0 && interval_bytes > 0) {
        double count, count_var;
        hs_block_weigh(block->size_bytes, interval_bytes, &count, &count_var);
        block->bytes = (double)hits * (double)interval_bytes;
        block->count = hs_load_number(count);
    }
}

/* Reads the next element of the columns. */
static struct hs_profile_block get_block(const struct hs_load_parts *parts,
                                         const Hs__Pb__HsBlocks *packet,
                                         const struct hs_load_row *row, struct place *place)
{
    size_t i = place->at++;
    place->address += i < packet->n_address_delta ? (uint64_t)packet->address_delta[i] : 0;
    uint32_t thread_delta = i < packet->n_thread_delta ? (uint32_t)packet->thread_delta[i] : 0;
    uint64_t birth_delta = i < packet->n_birth_ms_delta ? (uint64_t)packet->birth_ms_delta[i] : 0;
    place->thread = (int32_t)((uint32_t)place->thread + thread_delta);
    place->birth_ms = (int64_t)((uint64_t)place->birth_ms + birth_delta);
    uint64_t birth_ms = place->birth_ms > 0 ? (uint64_t)place->birth_ms : 0;
    struct hs_profile_block block = {
        .address = place->address,
        .size_bytes = i < packet->n_size_bytes ? packet->size_bytes[i] : 0,
        .birth_ns = hs_saturate_add_unsigned(packet->clock_ns,
                                             hs_saturate_multiply_unsigned(birth_ms, 1000000)),
        .node = row ? row->node : 0,
        .heap = row ? row->heap : 0,
    };
    hs_load_parts_find_names(parts, (uint32_t)place->thread,
                             i < packet->n_type ? packet->type[i] : 0, &block);
    weigh(packet, i, &block);
    return block;
}

void hs_load_blocks_add(struct hs_load *load, struct hs_load_blocks *blocks,
                        struct hs_load_parts **parts, const struct hs_load_row_table *table,
                        const Hs__Pb__HsBlocks *packet)
{
    const struct hs_load_part_names names = HS_LOAD_PART_NAMES(packet);
    struct place place = { .at = 0 };
    int64_t iid = 0;
    /* An intact packet has a size for each block, except where all sizes are 0. */
    size_t end = packet->n_size_bytes > packet->n_address_delta ? packet->n_size_bytes
                                                                : packet->n_address_delta;
    hs_load_parts_take_names(load, parts, &names);
    for (size_t s = 0; s < packet->n_callstack_iid_delta && load->err == 0; s++) {
        uint32_t heap = s < packet->n_heap ? packet->heap[s] : 0;
        uint32_t count = s < packet->n_block_count ? packet->block_count[s] : 0;
        const struct hs_load_row *row =
            hs_load_row_at(table, &iid, packet->callstack_iid_delta[s], heap);
        count = count <= end - place.at ? count : (uint32_t)(end - place.at);
        int r = blocks->count + count <= HS_BUILDER_BLOCKS_MAX ? 0 : -EOVERFLOW;
        r = r < 0 ? 0
                  : hs_array_reserve(&blocks->items, &blocks->capacity, blocks->count + count + 1,
                                     sizeof(blocks->items[0]));
        bool is_kept = row && blocks->count + count <= HS_BUILDER_BLOCKS_MAX;
        load->err = r;
        for (uint32_t i = 0; i < count && r == 0; i++) {
            struct hs_profile_block block = get_block(*parts, packet, row, &place);
            if (is_kept) {
                blocks->items[blocks->count++] = block;
            }
        }
    }
}

void hs_load_blocks_give(struct hs_load *load, struct hs_load_blocks *blocks, uint32_t dump)
{
    if (blocks->has_blocks) {
        hs_builder_dump_blocks(load->builder, dump, blocks->items, blocks->count);
    }
    hs_load_blocks_deinit(blocks);
}
