/*
 * Types of the blocks of a process that is watched: the parts that updates bring, put together.
 *
 * The state has a part for each stack and type, as far as blocks have types or were not read. What
 * these leave of a stack was read, and has no type: hs_watched_types_fill() makes parts of that,
 * too, as a snapshot has them.
 *
 * Trust     as watch_state.h.
 * Ensures   parts are in the order of their stacks, then types; each once, and of more than
 *           nothing; the types of the snapshot are in the order of their ids.
 * Threads   one.
 * Fails     -EPROTO, -EFBIG, -ENOMEM.
 */
#pragma once

#include "ctl/ctl.pb-c.h"
#include "watch/receive/watch_state.h"

/* Takes in what an update says about types, whose stacks are known. 0, or see Fails. */
int hs_watched_types_take(struct hs_watch_state *state, const Hs__Ctl__Update *update);
/* Makes the parts of the snapshot anew. 0 or -ENOMEM; then it has none. */
int hs_watched_types_fill(const struct hs_watch_state *state);
/* The parts of a stack, as indices in state->parts, and what they leave of it. Of a stack whose
 * parts do not add up, nothing is known: there are none, and all is left. */
void hs_watched_types_of(const struct hs_watch_state *state, uint32_t stack_id, size_t *ret_first,
                         size_t *ret_end, struct hs_estimate *ret_rest);
/* The name of a type; NULL: no update had it. */
const char *hs_watched_type_name(const struct hs_snapshot *snap, uint32_t type_id);
