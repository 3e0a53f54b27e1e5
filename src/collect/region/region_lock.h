/*
 * The lock by which a bound process knows that a collector has its region.
 *
 * The process keeps a descriptor of its region, and looks for another daemon when no process has
 * the lock. The lock belongs to an open file: it is there as long as any process has a descriptor
 * of that open file, so also while an fd holder or systemd keeps it for the next daemon, and it is
 * gone when none does, however the daemon ended.
 *
 * Threads   no state.
 * Fails     without the lock, the process offers its region once a second, and the registry refuses
 *           what it has already.
 * See       HS_REGION_LOCK_OFFSET in fmt/ctl_layout.h, client/life/bind.h
 */
#pragma once

#include <stdbool.h>

/* Takes the lock. *fd becomes a descriptor of another open file of the same region. */
void hs_region_lock(int *fd);

/* Does another open file of this region have the lock? */
bool hs_region_lock_is_taken(int fd);
