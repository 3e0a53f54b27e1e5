/*
 * Reads live blocks: see live_blocks.h.
 */
#include "collect/region/live_blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/region/live_records.h"
#include "util/array.h"
#include "util/page_sample.h"

#define VA_END (UINT64_C(1) << 47)
/* A process with more threads than these counts as one that lost samples. */
#define THREAD_BLOCKS_MAX 10000U

struct reading {
    struct hs_live_records live;
    uint8_t *heap_ids; /* by stack id; copied, because the target can change them */
    struct hs_live_blocks *blocks;
};

/* What malloc adds before and behind a block, at most, and what of a free neighbour it keeps. */
#define BEFORE_BYTES 16U
#define BEHIND_BYTES 112U

static bool is_sampled(uint64_t va, uint64_t size_bytes, unsigned shift)
{
    return hs_pages_are_sampled(va - BEFORE_BYTES, va + size_bytes + BEHIND_BYTES, shift);
}

/* Keeps every second page, and the blocks there. */
static void thin(struct hs_live_blocks *blocks)
{
    size_t kept = 0;
    blocks->page_shift++;
    for (size_t i = 0; i < blocks->count; i++) {
        const struct hs_pair *block = &blocks->items[i];
        if (is_sampled(block->key, hs_live_block_size(block), blocks->page_shift)) {
            blocks->items[kept++] = blocks->items[i];
        }
    }
    blocks->count = kept;
}

static int add(struct hs_live_blocks *blocks, const struct hs_live_record *view)
{
    unsigned hits = HS_RECORD_HITS(view->word);
    unsigned interval = hits == 0 ? HS_LIVE_EXACT : HS_RECORD_INTERVAL(view->word);
    if (view->va < BEFORE_BYTES || view->va >= VA_END ||
        (hits != 0 && (interval >= HS_LIVE_EXACT || blocks->interval_bytes[interval] == 0))) {
        return 0;
    }
    while (blocks->count >= HS_LIVE_BLOCKS_MAX && blocks->page_shift < HS_PAGE_SAMPLE_SHIFT_MAX) {
        thin(blocks);
    }
    if (blocks->count >= HS_LIVE_BLOCKS_MAX) {
        return -EFBIG;
    }
    if (!is_sampled(view->va, view->size_bytes, blocks->page_shift)) {
        return 0;
    }
    int r = hs_array_reserve(&blocks->items, &blocks->capacity, blocks->count + 1,
                             sizeof(blocks->items[0]));
    if (r == 0) {
        blocks->items[blocks->count++] = (struct hs_pair){
            view->va,
            hs_live_block_pack(view->stack_id, view->size_bytes, interval),
        };
    }
    return r;
}

static int read_records(struct reading *reading)
{
    struct hs_live_blocks *blocks = reading->blocks;
    struct hs_live_record view;
    int r = 0;
    for (uint64_t i = 0; i < reading->live.records.count && r == 0; i++) {
        if (hs_live_record_view(&reading->live, i, &view) &&
            reading->heap_ids[view.stack_id] == 0) {
            r = add(blocks, &view);
        }
    }
    return r;
}

static int copy_heap_ids(struct reading *reading)
{
    uint64_t count = reading->live.stacks.count;
    if (count > UINT32_MAX) {
        return -EPROTO;
    }
    reading->blocks->stack_count = (uint32_t)count;
    reading->heap_ids = malloc((size_t)count + 1);
    if (!reading->heap_ids) {
        return -ENOMEM;
    }
    for (uint64_t i = 0; i < count; i++) {
        reading->heap_ids[i] = hs_live_records_heap_of(&reading->live, (uint32_t)i);
    }
    return 0;
}

static void take_intervals(const struct hs_region_header_v2 *header, struct hs_live_blocks *blocks)
{
    for (uint32_t i = 1; i < header->interval_count && i < HS_REGION_INTERVALS; i++) {
        uint64_t bytes = header->interval_bytes[i];
        blocks->interval_bytes[i] = bytes;
        blocks->widest_bytes = bytes > blocks->widest_bytes ? bytes : blocks->widest_bytes;
    }
    blocks->is_from_startup = header->is_from_startup != 0;
}

/* Blocks may be missing whose samples were lost. */
static void take_losses(const struct hs_region *region, struct hs_live_blocks *blocks)
{
    struct hs_thread_block_v1 block;
    uint64_t count = hs_region_count(region, HS_SECTION_BLOCKS);
    for (uint64_t i = 0; i < count && blocks->is_from_startup; i++) {
        blocks->is_from_startup = i < THREAD_BLOCKS_MAX &&
                                  hs_region_read(region, HS_SECTION_BLOCKS, i, 1, &block) == 0 &&
                                  block.lost_bytes == 0;
    }
}

int hs_live_blocks_read(struct hs_region *region, struct hs_live_blocks *ret_blocks)
{
    struct hs_live_blocks blocks = { 0 };
    struct reading reading = { .blocks = &blocks };
    int r = hs_region_refresh(region);
    if (r < 0) {
        return r;
    }
    take_intervals(&region->header, &blocks);
    take_losses(region, &blocks);
    r = hs_live_records_open(region, &reading.live);
    r = r < 0 ? r : copy_heap_ids(&reading);
    r = r < 0 ? r : read_records(&reading);
    free(reading.heap_ids);
    hs_live_records_close(&reading.live);
    if (r < 0) {
        hs_live_blocks_deinit(&blocks);
        return r;
    }
    *ret_blocks = blocks;
    return 0;
}

void hs_live_blocks_deinit(struct hs_live_blocks *blocks)
{
    free(blocks->items);
    *blocks = (struct hs_live_blocks){ 0 };
}
