/*
 * Which heap has recorded blocks in which range of addresses.
 *
 * Threads   one.
 * Trust     the region is hostile: see region_reader.h.
 * Fails     -errno of reading the region.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/ledger/glibc_mmapped.h"
#include "collect/region/region_reader.h"

#define HS_BLOCK_PLACE_NONE UINT32_MAX

/* Sets heap_ids[i] to a heap that has a live block in ranges->items[i], unless none has. Heaps with
 * is_left_out[id] do not count. The ranges are in the order of their addresses, and do not
 * overlap. */
int hs_block_places_find(const struct hs_region *region, const struct hs_va_ranges *ranges,
                         const bool is_left_out[HS_REGION_HEAPS], uint32_t *heap_ids);
