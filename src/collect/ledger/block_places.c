/*
 * Looks up recorded blocks in ranges: see block_places.h.
 */
#include "collect/ledger/block_places.h"

#include <stddef.h>

#include "rt/atomic.h"

static void look(const struct hs_region_map *records, const struct hs_region_map *stacks,
                 const struct hs_va_ranges *ranges, const bool is_left_out[HS_REGION_HEAPS],
                 uint32_t *heap_ids)
{
    for (uint64_t i = 0; i < records->count; i++) {
        const struct hs_record_v1 *record = hs_region_map_at(records, i);
        /* ORDER record: as in record_scan.c. A record that changes meanwhile is left out. */
        uint64_t word = hs_load_acquire(&record->word);
        uint64_t va = hs_load_acquire(&record->addr);
        uint32_t stack_id = hs_load_acquire(&record->stack_id);
        if (!(HS_RECORD_STATE(word) & HS_RECORD_ALIVE) || hs_load_relaxed(&record->word) != word ||
            stack_id >= stacks->count) {
            continue;
        }
        const struct hs_stack_v1 *stack = hs_region_map_at(stacks, stack_id);
        uint32_t heap_id = hs_load_relaxed(&stack->heap_id);
        size_t at = is_left_out[heap_id] ? ranges->count : hs_va_ranges_find(ranges, va);
        if (at < ranges->count && heap_ids[at] == HS_BLOCK_PLACE_NONE) {
            heap_ids[at] = heap_id;
        }
    }
}

int hs_block_places_find(const struct hs_region *region, const struct hs_va_ranges *ranges,
                         const bool is_left_out[HS_REGION_HEAPS], uint32_t *heap_ids)
{
    struct hs_region_map records = { 0 }, stacks = { 0 };
    struct hs_region now = *region; /* its counts as of now */
    for (size_t i = 0; i < ranges->count; i++) {
        heap_ids[i] = HS_BLOCK_PLACE_NONE;
    }
    int r = hs_region_refresh(&now);
    r = r == 0 ? hs_region_map_section(&now, HS_SECTION_STACKS, &stacks) : r;
    r = r == 0 ? hs_region_map_section(&now, HS_SECTION_RECORDS, &records) : r;
    if (r == 0) {
        look(&records, &stacks, ranges, is_left_out, heap_ids);
    }
    hs_region_unmap(&records);
    hs_region_unmap(&stacks);
    return r;
}
