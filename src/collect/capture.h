/*
 * Capture: a region, at an instant, as a snapshot.
 *
 * Of a running target nobody is stopped. The totals of a stack are kept by the parity of the epoch
 * of the allocation; the cut moves writers from one parity to the other:
 *
 *     epoch 6: writers add to parity 0      1. copy parity 1, which stands still
 *     cut 6, epoch 7: they add to parity 1  2. open the cut (cut.h)
 *                                           3. scan the records for live and peak
 *                                           4. add parity 0, which now stands still
 *                                           5. close the cut
 *
 * The rest (frames, modules, names) never changes once it is whole, and is copied afterwards. Of a
 * process that is gone everything stands still, and both parities are simply added.
 *
 * The peak is a cut of the client's own, taken while its live total was the highest. If it moves
 * while we look, we begin again, so that it is never newer than the snapshot; if it would not rest, or
 * is below what lives now, then now is the peak: live totals are flushed in steps, so the client
 * notices a new peak a little late.
 *
 * Holds     what snapshot.h says; figures of one cut add up over stacks, threads and the whole.
 * Threads   one collector per region.
 * Fails     -EPROTO: no honest client writes this; -ENOMEM. Nothing stays open.
 * See       cut.h, record_scan.h, region_reader.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/region_reader.h"
#include "trace/snapshot.h"

/* `is_dead`: no thread of the target runs any more. RSS, exit and is_final are the caller's to fill
 * in. The caller frees the snapshot. */
int hs_capture(struct hs_region *region, bool is_dead, uint64_t now_mono_ns,
               struct hs_snapshot **ret_snapshot);
