/*
 * Capture: makes a snapshot of a region at one instant.
 *
 * No thread of a running target is stopped. The client keeps the totals of each stack twice, by the
 * parity of the epoch of the allocation; the cut moves writers from one parity to the other:
 *
 *     epoch 6: writers add to parity 0      1. copy parity 1, which no thread writes
 *     cut 6, epoch 7: they add to parity 1  2. open the cut (cut.h)
 *                                           3. scan the records for live and peak
 *                                           4. add parity 0, which now no thread writes
 *                                           5. close the cut
 *
 * The rest (frames, modules, names) never changes once it is complete, and is copied afterwards. In
 * the region of a process that is gone nothing changes any more, and both parities are simply
 * added.
 *
 * The peak is a cut that the client itself takes while its live total is the highest so far. If the
 * client moves the peak during the capture, the capture begins again, so that the peak is never
 * newer than the snapshot. If the peak keeps moving, or is below the live total of this instant,
 * then this instant is the peak: live totals are flushed in steps, so the client notices a new peak
 * a little late.
 *
 * Ensures   what snapshot.h says; figures of one cut add up over stacks, threads and the whole.
 * Threads   one collector per region.
 * Fails     -EPROTO: no honest client writes this; -ENOMEM. No cut stays open.
 * See       cut.h, record_scan.h, region_reader.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/region/region_reader.h"
#include "trace/snapshot.h"

struct hs_open_cut;

/* Called once, when the cut is open: from then on the instant is fixed. What it returns, if it is
 * not 0, ends the capture, and is the result. */
typedef int hs_capture_open_fn(void *ctx, const struct hs_open_cut *cut);

/* As hs_capture(), with a call of `on_open`. If the client moves the peak while the region is read,
 * the peak is not known, except if the live total of this instant is at least as high: another
 * instant is not possible. Unless `on_open` ends the capture, the cut stays open, so that another
 * collector can read it if this one is killed before it has stored the snapshot: the caller then
 * calls hs_capture_close(). */
int hs_capture_opened(struct hs_region *region, bool is_dead, uint64_t now_mono_ns,
                      hs_capture_open_fn *on_open, void *ctx, struct hs_snapshot **ret_snapshot);

/* Makes the snapshot of a cut that another process has opened and saved (open_cut.h), and has not
 * stored a snapshot of because it was killed. -ESTALE: the cut is not open any more, so its
 * snapshot is stored; -EBADMSG: it was saved by another version. The cut stays open, as above. */
int hs_capture_saved(struct hs_region *region, int fd, struct hs_snapshot **ret_snapshot);
/* Closes the cut that one of the above has left open, whatever its result. */
void hs_capture_close(struct hs_region *region);

/* Makes a snapshot. `is_dead`: no thread of the target runs any more. The caller fills in RSS, exit
 * and is_final, and frees the snapshot with hs_snapshot_free(). 0, or see Fails. */
int hs_capture(struct hs_region *region, bool is_dead, uint64_t now_mono_ns,
               struct hs_snapshot **ret_snapshot);
