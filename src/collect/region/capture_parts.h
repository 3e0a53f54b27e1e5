/*
 * The parts of a snapshot: by thread, type and age (trace/heap_parts.h).
 *
 *     hs_capture_parts_begin(region, &cut, &scan);
 *     hs_record_scan_run(&scan);
 *     ... set the figures of snap->stacks ...
 *     int r = hs_capture_parts(&scan, snap);
 *     hs_capture_parts_end(&scan);
 *
 * Ensures   the parts of a stack add up to its figures in the snapshot.
 * Fails     -ENOMEM.
 */
#pragma once

#include "collect/region/open_cut.h"
#include "collect/region/record_scan.h"
#include "collect/region/region_reader.h"
#include "trace/snapshot.h"

/* Has the scan add up parts, if there is memory for the tables. */
void hs_capture_parts_begin(const struct hs_region *region, const struct hs_open_cut *cut,
                            struct hs_record_scan *scan);
/* Makes the parts of the snapshot, whose stacks have their figures. Returns 0, or see Fails. */
int hs_capture_parts(struct hs_record_scan *scan, struct hs_snapshot *snap);
/* Frees the tables. */
void hs_capture_parts_end(struct hs_record_scan *scan);
