/*
 * The parts of a look: what of each stack's live memory is of which type.
 *
 * Ensures   parts are in the order of their stacks, then of their types; each stack and type occurs
 *           once; the frames of each stack are known; each type has a name. A part whose type the
 *           program gave is all that its stack holds.
 * Threads   one.
 * Fails     -ENOMEM, -EPROTO.
 */
#pragma once

#include "collect/region/live_totals.h"
#include "collect/region/region_reader.h"
#include "trace/snapshot.h"

/* Makes tables->parts[HS_PARTS_LIVE] and tables->types of what was read; none if the region has no
 * types. 0, or see Fails; then there are none. */
int hs_watch_parts_make(const struct hs_region *region, const struct hs_live_totals *totals,
                        struct hs_snapshot *tables);

/* In the order of stacks, then of types. */
int hs_watch_parts_compare(const void *a, const void *b);
