/*
 * The part of a snapshot that does not depend on the instant: frames, modules, threads, heaps,
 * names and counters, copied from the region and checked.
 *
 * Ids in the snapshot are those of the region, so they stay the same over all snapshots.
 *
 * Holds     every id in the result lies inside its array; an id that did not was replaced by a
 *           neutral one and counted in bad_count. There is always a module 0.
 * Threads   one; the tables are append-only, so they are read after the cut was closed.
 * Fails     -ENOMEM, -EPROTO. The snapshot is then partly filled, and hs_snapshot_free() accepts
 *           it.
 */
#pragma once

#include <stdint.h>

#include "collect/region/heap_peaks.h"
#include "collect/region/region_reader.h"
#include "trace/snapshot.h"

/* Copies the tables into *snap. `stacks`: the mapped section, snap->stack_count elements long;
 * snap->stacks[] has their figures already. `heaps`: as of the capture. `thread_live`: the live
 * estimates by thread id, `thread_count` of them. 0, or see Fails. */
int hs_capture_tables(const struct hs_region *region, const struct hs_region_map *stacks,
                      const struct hs_heap_peaks *heaps, const struct hs_estimate *thread_live,
                      uint32_t thread_count, struct hs_snapshot *snap);
