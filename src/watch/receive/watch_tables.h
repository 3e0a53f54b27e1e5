/*
 * What updates define: heaps, modules, names of code, frames and stacks, added to the tables of a
 * state.
 *
 * Trust, Fails   as watch_state.h. A table is extended by what was whole.
 * Threads        one.
 */
#pragma once

#include "ctl/ctl.pb-c.h"
#include "watch/receive/watch_state.h"

/* Adds all that an update defines. 0, or see watch_state.h. */
int hs_watch_tables_take(struct hs_watch_state *state, const Hs__Ctl__Update *update);
