/*
 * The part of a snapshot that does not depend on the instant: frames, modules, threads, heaps,
 * names and counters, copied from the region and checked.
 *
 * Ids in the snapshot are those of the region, so they stay the same over all snapshots.
 *
 * Holds     every id in the result lies inside its array; what pointed elsewhere was replaced by
 *           something neutral and counted in bad_count. There is always a module 0.
 * Threads   one; all of it is append-only, so it is read after the cut was closed.
 * Fails     -ENOMEM, -EPROTO; the snapshot is then half filled, and still fit for
 *           hs_snapshot_free().
 */
#pragma once

#include <stdint.h>

#include "collect/region_reader.h"
#include "trace/snapshot.h"

/* `stacks`: the mapped section, snap->stack_count elements long; snap->stacks[] has their figures
 * already. `thread_live`: live by thread id, `thread_count` of them. */
int hs_capture_tables(const struct hs_region *region, const struct hs_stack_v1 *stacks,
                      const struct hs_estimate *thread_live, uint32_t thread_count,
                      struct hs_snapshot *snap);
