/*
 * Looks up recorded blocks in ranges: see block_places.h.
 */
#include "collect/ledger/block_places.h"

#include <stddef.h>

#include "collect/region/live_records.h"

static void look(const struct hs_live_records *records, const struct hs_va_ranges *ranges,
                 const bool is_left_out[HS_REGION_HEAPS], uint32_t *heap_ids)
{
    struct hs_live_record live;
    for (uint64_t i = 0; i < records->records.count; i++) {
        if (hs_live_record_view(records, i, &live)) {
            uint32_t heap_id = hs_live_records_heap_of(records, live.stack_id);
            size_t at = is_left_out[heap_id] ? ranges->count : hs_va_ranges_find(ranges, live.va);
            if (at < ranges->count && heap_ids[at] == HS_BLOCK_PLACE_NONE) {
                heap_ids[at] = heap_id;
            }
        }
    }
}

int hs_block_places_find(const struct hs_region *region, const struct hs_va_ranges *ranges,
                         const bool is_left_out[HS_REGION_HEAPS], uint32_t *heap_ids)
{
    struct hs_live_records records;
    struct hs_region now = *region; /* its counts as of now */
    for (size_t i = 0; i < ranges->count; i++) {
        heap_ids[i] = HS_BLOCK_PLACE_NONE;
    }
    int r = hs_region_refresh(&now);
    if (r < 0) {
        return r;
    }
    r = hs_live_records_open(&now, &records);
    if (r == 0) {
        look(&records, ranges, is_left_out, heap_ids);
    }
    hs_live_records_close(&records);
    return r;
}
