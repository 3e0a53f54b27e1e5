/*
 * The births of a snapshot: when its live blocks were allocated (trace/heap_births.h).
 *
 *     hs_capture_births_begin(&scan);
 *     hs_record_scan_run(&scan);
 *     ... set the figures of snap->stacks ...
 *     int r = hs_capture_births(&scan, snap);
 *     hs_capture_births_end(&scan);
 *
 * Ensures   the births of a stack add up to its live figures in the snapshot.
 * Fails     -ENOMEM.
 */
#pragma once

#include "collect/region/record_scan.h"
#include "trace/snapshot.h"

/* Has the scan add up births, if there is memory for the table. The scan has its times. */
void hs_capture_births_begin(struct hs_record_scan *scan);
/* Makes the births of the snapshot. Returns 0, or see Fails. */
int hs_capture_births(struct hs_record_scan *scan, struct hs_snapshot *snap);
/* Frees the table. */
void hs_capture_births_end(struct hs_record_scan *scan);
