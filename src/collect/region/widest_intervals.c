/*
 * Finds the widest intervals: see widest_intervals.h.
 */
#include "collect/region/widest_intervals.h"

#include <stdbool.h>

#include "rt/atomic.h"

void hs_widest_intervals_find(const struct hs_region *region, const struct hs_heap_peaks *heaps,
                              uint64_t ret_widest_bytes[HS_REGION_HEAPS])
{
    const struct hs_region_header_v2 *header = &region->header;
    uint64_t process_bytes = hs_load_relaxed(&region->control->interval_bytes), most_bytes = 0;
    bool is_same_as_ever = region->has_one_selection;
    for (uint32_t i = 1; i < header->interval_count; i++) {
        uint64_t bytes = header->interval_bytes[i];
        bool is_in_force = bytes == process_bytes;
        for (uint32_t k = 1; k < heaps->count; k++) {
            is_in_force |= bytes == heaps->heaps[k].interval_bytes;
        }
        is_same_as_ever &= is_in_force;
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
    }
    for (uint32_t i = 0; i < HS_REGION_HEAPS; i++) {
        uint64_t own_bytes = i == 0             ? process_bytes
                             : i < heaps->count ? heaps->heaps[i].interval_bytes
                                                : 0;
        ret_widest_bytes[i] = is_same_as_ever && own_bytes > 0 ? own_bytes : most_bytes;
    }
}
