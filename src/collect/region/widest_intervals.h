/*
 * The widest interval at which the blocks of each heap can have been sampled.
 *
 * The totals of a stack do not say at which interval they were sampled. It is the heap's own if all
 * intervals that were ever in use still are, so that none has changed. Otherwise the widest error
 * of all is the honest one.
 *
 * Threads   none.
 */
#pragma once

#include <stdint.h>

#include "collect/region/heap_peaks.h"
#include "collect/region/region_reader.h"

/* Sets ret_widest_bytes for each heap id. `heaps` are those of the region at the cut. */
void hs_widest_intervals_find(const struct hs_region *region, const struct hs_heap_peaks *heaps,
                              uint64_t ret_widest_bytes[HS_REGION_HEAPS]);
