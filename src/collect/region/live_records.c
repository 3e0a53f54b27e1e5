/*
 * Maps what live records need: see live_records.h.
 */
#include "collect/region/live_records.h"

int hs_live_records_open(const struct hs_region *region, struct hs_live_records *ret_records)
{
    *ret_records = (struct hs_live_records){ 0 };
    int r = hs_region_map_section(region, HS_SECTION_STACKS, &ret_records->stacks);
    return r < 0 ? r : hs_region_map_section(region, HS_SECTION_RECORDS, &ret_records->records);
}

void hs_live_records_close(struct hs_live_records *records)
{
    hs_region_unmap(&records->stacks);
    hs_region_unmap(&records->records);
}
