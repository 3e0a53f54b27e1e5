/*
 * Counts live records, for assertions. See region.h.
 */
#include "client/tables/region.h"

#if HS_HAS_CHECKS

const struct hs_record_v1 *hs_region_alive_record(uint32_t id)
{
    bool is_there = id < hs_region.header->sections[HS_SECTION_RECORDS].count;
    const struct hs_record_v1 *record = is_there ? hs_region_record(id) : NULL;
    return record && HS_RECORD_STATE(record->word) == HS_RECORD_ALIVE ? record : NULL;
}

uint64_t hs_region_alive_count(bool is_of_malloc)
{
    uint64_t record_count =
        hs_region.header ? hs_region.header->sections[HS_SECTION_RECORDS].count : 0;
    uint64_t alive_count = 0;
    for (uint32_t id = 0; id < record_count; id++) {
        const struct hs_record_v1 *record = hs_region_alive_record(id);
        alive_count += record && (hs_region_heap_of(record) == 0) == is_of_malloc;
    }
    return alive_count;
}

#endif
