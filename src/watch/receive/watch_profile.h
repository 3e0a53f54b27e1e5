/*
 * A profile of what a process that is watched holds now, so that every view of a file is a view of
 * the process, too.
 *
 * Threads   one.
 * Fails     -errno of the trace writer and of profile/read/load.h.
 */
#pragma once

#include "profile/model/profile.h"
#include "watch/receive/watch_names.h"
#include "watch/receive/watch_state.h"

/* Makes a profile with one dump, which has the ledger and no stacks. The caller frees it. 0, or see
 * Fails. */
int hs_watch_profile_of_ledger(const struct hs_watch_state *state, struct hs_profile **ret_profile);
/* Makes a profile with one dump. `names` may be NULL: frames have no names. The caller frees it
 * with hs_profile_free(). 0, or see Fails. */
int hs_watch_profile_make(const struct hs_watch_state *state, struct hs_watch_names *names,
                          struct hs_profile **ret_profile);
