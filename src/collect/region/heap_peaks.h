/*
 * What the elements of HEAPS say about each heap at a capture: whether it is carved, and the cut of
 * its own peak.
 *
 * The peak's tombstones are kept until the heap has a higher peak. So the cuts are read before the
 * capture's own cut is opened, and again when all records have been read: a peak that has moved
 * meanwhile cannot be used.
 *
 * Threads   one; the target goes on writing the elements.
 * See       fmt/region_layout.h, "Blocks" and "Cuts".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/region/region_reader.h"
#include "fmt/region_layout.h"
#include "trace/snapshot.h"

struct hs_heap_peaks {
    struct hs_heap_v2 heaps[HS_REGION_HEAPS];
    uint32_t count;                 /* elements that exist; the others are zero */
    bool has_carved;                /* one of them is carved */
    bool has_peak[HS_REGION_HEAPS]; /* of a carved heap: its peak is usable */
};

/* Reads all heaps. 0, or -errno. */
int hs_heap_peaks_load(const struct hs_region *region, struct hs_heap_peaks *ret_peaks);

/* Adds the heaps that the target has named since; their peaks are not known. 0, or -errno. */
int hs_heap_peaks_add_new(const struct hs_region *region, struct hs_heap_peaks *peaks);

/* Finds out which peaks have not moved since. False: one has moved, or could not be read. */
bool hs_heap_peaks_check(const struct hs_region *region, struct hs_heap_peaks *peaks);

/* Is this a heap whose blocks lie inside blocks of other heaps? */
static inline bool hs_heap_peaks_is_carved(const struct hs_heap_peaks *peaks, uint8_t heap_id)
{
    return (peaks->heaps[heap_id].flags & HS_HEAP_CARVED) != 0;
}

/* Makes snap->heaps, from what was loaded and from the figures of snap->stacks. 0 or -ENOMEM. */
int hs_heap_peaks_fill(const struct hs_heap_peaks *peaks, struct hs_snapshot *snap);
