/*
 * What the resident memory of a process that is watched consists of: the last ledger that an update
 * brought, as that of the snapshot.
 *
 * Trust     as watch_state.h.
 * Threads   one.
 * Fails     -EPROTO, -EFBIG, -ENOMEM; the earlier ledger stays.
 */
#pragma once

#include "ctl/ctl.pb-c.h"
#include "watch/receive/watch_state.h"

/* Takes over what an update says. Does nothing without a ledger in it. 0, or see Fails. */
int hs_watched_ledger_take(struct hs_watch_state *state, const Hs__Ctl__Update *update);
