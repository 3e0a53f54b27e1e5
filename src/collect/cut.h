/*
 * A cut: one instant of a running target, held open while it is read.
 *
 * Nobody is stopped. The region has an epoch; the cut C is the moment it goes from C to C + 1. What
 * was born with an epoch <= C and did not die with one <= C belongs to the cut. Births need no help
 * to be told apart: a record carries its epoch. Deaths do: who dies after the cut while it is open
 * must leave a tombstone, and must know about the cut to do so.
 *
 * The order that loses none. A dying writer reads `epoch` (its death epoch D) and then
 * `snapshot_epoch` (S), and leaves a tombstone when its birth B <= S and D > S. So S must say C
 * before anybody can read the epoch C + 1:
 *
 *     collector                                 writer that dies after the cut
 *     1. snapshot_epoch = C     (provisional)
 *     2. CAS epoch  C -> C + 1  (release)  ───► D = epoch = C + 1  (acquire)
 *     3. scan                                   S = snapshot_epoch = C: tombstone
 *
 * When a new peak moves the epoch between 1 and 2 (by 2), the CAS fails and we begin again with the
 * new C. Until then a writer may see S < C = D: it leaves a tombstone that the scan passes over, as
 * its D is not above C. The other order (first epoch, then snapshot_epoch) loses every death in
 * between, and unconditionally adding 1 leaves an S that is too low.
 *
 * Who is in the middle of an operation at step 2 falls on either side, which is still consistent, if
 * all that this thread does later falls after the cut. For that, what a writer published before it
 * read the old epoch must be visible to the scan. With several threads a locked instruction lies in
 * between. A process with one thread does without; then its store may still wait in the store buffer
 * while the next epoch is read. That wait is some hundred nanoseconds at most, and between step 2 and
 * 3 lie system calls (the records are mapped only then).
 *
 * Closing stores 0: from then on writers may reuse the tombstones.
 *
 * Holds     one cut open per region; the parity of the epoch changes only here.
 * Threads   one collector per region. A cut that a dead collector left open is taken over.
 * Fails     -EPROTO: the epoch would not stand still, so this is no honest client.
 * See       fmt/region_layout.h ("Cuts"), docs/CONCURRENCY.md
 */
#pragma once

#include <stdint.h>

#include "fmt/region_layout.h"

/* Everything that is alive: the cut of a process that is gone. */
#define HS_CUT_OF_DEAD UINT64_MAX

int hs_cut_open(struct hs_region_control_v1 *control, uint64_t *ret_epoch);
void hs_cut_close(struct hs_region_control_v1 *control);
