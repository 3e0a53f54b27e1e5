/*
 * Reading recorded ranges, and comparing them with mappings: see mmap_blocks.h.
 */
#include "collect/ledger/mmap_blocks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collect/region/live_records.h"
#include "util/array.h"

/* The heap's id; 0: there is none (heap 0 is malloc's). */
static int find_heap(const struct hs_region *region)
{
    struct hs_heap_v2 *heaps = calloc(HS_REGION_HEAPS, sizeof(heaps[0]));
    int found = 0, count = heaps ? hs_region_read_heaps(region, heaps) : 0;
    for (int i = 1; i < count && found == 0; i++) {
        found = strncmp(heaps[i].name, HS_HEAP_NAME_MMAP, sizeof(heaps[i].name)) == 0 ? i : 0;
    }
    free(heaps);
    return found;
}

static int add_block(struct hs_mmap_blocks *blocks, const struct hs_mmap_block *block)
{
    int r = hs_array_reserve(&blocks->items, &blocks->capacity, blocks->count + 1,
                             sizeof(blocks->items[0]));
    if (r == 0) {
        blocks->items[blocks->count++] = *block;
    }
    return r;
}

void hs_mmap_blocks_deinit(struct hs_mmap_blocks *blocks)
{
    free(blocks->items);
    *blocks = (struct hs_mmap_blocks){ 0 };
}

static int add_records(const struct hs_live_records *records, uint8_t heap_id,
                       struct hs_mmap_blocks *blocks)
{
    struct hs_live_record live;
    int r = 0;
    for (uint64_t i = 0; i < records->records.count && r == 0; i++) {
        if (hs_live_record_view(records, i, &live) && live.va + live.size_bytes > live.va &&
            hs_live_records_heap_of(records, live.stack_id) == heap_id) {
            const struct hs_mmap_block block = { .start_va = live.va,
                                                 .end_va = live.va + live.size_bytes,
                                                 .stack_id = live.stack_id };
            r = add_block(blocks, &block);
        }
    }
    return r;
}

int hs_mmap_blocks_read(const struct hs_region *region, struct hs_mmap_blocks *ret_blocks)
{
    struct hs_live_records records;
    struct hs_region now = *region; /* its counts as of now */
    int r = region->fd >= 0 ? hs_region_refresh(&now) : 0;
    int heap_id = region->fd >= 0 && r == 0 ? find_heap(&now) : 0;
    if (heap_id == 0) {
        return r;
    }
    r = hs_live_records_open(&now, &records);
    r = r == 0 ? add_records(&records, (uint8_t)heap_id, ret_blocks) : r;
    hs_live_records_close(&records);
    return r;
}

static int compare_starts(const void *a, const void *b)
{
    const struct hs_mmap_block *x = a, *y = b;
    return x->start_va < y->start_va ? -1 : x->start_va > y->start_va;
}

int hs_mmap_blocks_clip(const struct hs_address_space *space, struct hs_mmap_blocks *recorded,
                        struct hs_mmap_blocks *ret_blocks)
{
    uint64_t done_va = 0;
    size_t i = 0;
    int r = 0;
    if (recorded->count > 1) {
        qsort(recorded->items, recorded->count, sizeof(recorded->items[0]), compare_starts);
    }
    for (size_t n = 0; n < recorded->count && r == 0; n++) {
        const struct hs_mmap_block *block = &recorded->items[n];
        uint64_t from_va = block->start_va > done_va ? block->start_va : done_va;
        while (i < space->count && space->items[i].end_va <= from_va) {
            i++;
        }
        for (size_t at = i;
             at < space->count && space->items[at].start_va < block->end_va && r == 0; at++) {
            const struct hs_mapping *mapping = &space->items[at];
            struct hs_mmap_block part = *block;
            part.start_va = mapping->start_va > from_va ? mapping->start_va : from_va;
            part.end_va = mapping->end_va < block->end_va ? mapping->end_va : block->end_va;
            if (part.start_va < part.end_va && hs_mapping_is_anonymous(space, mapping)) {
                r = add_block(ret_blocks, &part);
            }
        }
        done_va = block->end_va > done_va ? block->end_va : done_va;
    }
    return r;
}

/* --- by stack --------------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    const struct hs_ledger_stack *x = a, *y = b;
    return x->stack_id < y->stack_id ? -1 : x->stack_id > y->stack_id;
}

static void add_stack(void *sum, void *item)
{
    struct hs_ledger_stack *to = sum;
    const struct hs_ledger_stack *from = item;
    to->count += from->count;
    to->size_bytes += from->size_bytes;
    to->rss_bytes += from->rss_bytes;
    to->swap_bytes += from->swap_bytes;
}

static int compare_sizes(const void *a, const void *b)
{
    const struct hs_ledger_stack *x = a, *y = b;
    if (x->rss_bytes != y->rss_bytes) {
        return x->rss_bytes > y->rss_bytes ? -1 : 1;
    }
    if (x->size_bytes != y->size_bytes) {
        return x->size_bytes > y->size_bytes ? -1 : 1;
    }
    return compare_ids(a, b);
}

int hs_mmap_blocks_by_stack(const struct hs_mmap_blocks *blocks,
                            struct hs_ledger_stack **ret_stacks, uint32_t *ret_count)
{
    struct hs_ledger_stack *stacks = calloc(blocks->count + 1, sizeof(stacks[0]));
    if (!stacks) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < blocks->count; i++) {
        const struct hs_mmap_block *block = &blocks->items[i];
        stacks[i] = (struct hs_ledger_stack){ block->stack_id, 1, block->end_va - block->start_va,
                                              block->rss_bytes, block->swap_bytes };
    }
    size_t count = hs_array_merge(stacks, blocks->count, sizeof(stacks[0]), compare_ids, add_stack);
    if (count > 1) {
        qsort(stacks, count, sizeof(stacks[0]), compare_sizes);
    }
    *ret_stacks = stacks;
    *ret_count = (uint32_t)(count < HS_LEDGER_STACKS_MAX ? count : HS_LEDGER_STACKS_MAX);
    return 0;
}
