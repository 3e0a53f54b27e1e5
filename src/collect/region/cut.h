/*
 * A cut: one instant of a running target, held open while the collector reads it.
 *
 * No thread is stopped. The region has an epoch; the cut C is the moment when the epoch goes from C
 * to C + 1. A record that was born with an epoch <= C and did not die with an epoch <= C belongs to
 * the cut. Births need no help: a record carries its epoch of birth. Deaths do: a record that dies
 * after the cut, while it is open, must leave a tombstone, and its writer must know of the cut to
 * do so.
 *
 * The order that loses no death. A writer that frees a record reads `epoch` (its death epoch D),
 * then `snapshot_epoch` (S), and leaves a tombstone when its birth B <= S and D > S. So S must be C
 * before any writer can read the epoch C + 1:
 *
 *     collector                                 writer of a death after the cut
 *     1. snapshot_epoch = C     (provisional)
 *     2. CAS epoch  C -> C + 1  (release)  ───► D = epoch = C + 1  (acquire)
 *     3. scan                                   S = snapshot_epoch = C: tombstone
 *
 * When a new peak moves the epoch between 1 and 2 (by 2), the CAS fails, and the collector begins
 * again with the new C. Until then a writer may see S < C = D: it leaves a tombstone that the scan
 * skips, as its D is not above C. The other order (first epoch, then snapshot_epoch) loses every
 * death in between, and adding 1 unconditionally leaves an S that is too low.
 *
 * An operation that is in progress at step 2 falls on either side of the cut. That is consistent,
 * if all that its thread does later falls after the cut. For that, what a writer published before
 * it read the old epoch must be visible to the scan. With several threads a locked instruction lies
 * in between. A process with one thread has none; its store may then still wait in the store buffer
 * while it reads the next epoch. That wait is some hundred nanoseconds at most, and system calls
 * lie between steps 2 and 3 (the records are mapped only then).
 *
 * Closing stores 0: from then on writers may reuse the tombstones.
 *
 * Ensures   at most one cut of a region is open; the parity of the epoch changes only here.
 * Threads   one collector per region. A cut that a dead collector left open is taken over.
 * Fails     -EPROTO: the epoch keeps moving, so this is no honest client.
 * See       fmt/region_layout.h ("Cuts"), docs/CONCURRENCY.md
 */
#pragma once

#include <stdint.h>

#include "fmt/region_layout.h"

/* The cut of a process that is gone: it contains every live record. */
#define HS_CUT_OF_DEAD UINT64_MAX

/* Opens a cut; *ret_epoch is C. 0 or -EPROTO. */
int hs_cut_open(struct hs_region_control_v1 *control, uint64_t *ret_epoch);
/* Closes the cut. */
void hs_cut_close(struct hs_region_control_v1 *control);
