/*
 * A look at a process that is watched: the figures of its stacks now, and the tables that say what
 * these stacks are.
 *
 * The tables are copied again only when there are stacks that the last copy does not have. When the
 * threads' counters have not moved since the look before, nothing else has changed either, and the
 * records are not read.
 *
 *     struct hs_watch_look look = { 0 };
 *     int r = hs_watch_look(&look, region, now_ns);        again and again
 *     hs_watch_look_deinit(&look);
 *
 * Threads   one. The process goes on, and does not notice.
 * Fails     as collect/region/region_reader.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/region/live_totals.h"
#include "collect/region/region_reader.h"
#include "trace/snapshot.h"

/* Zeroed: nothing has been looked at. */
struct hs_watch_look {
    struct hs_live_totals totals;
    /* Modules, frames, names of code, and stacks without figures, with the region's ids; and if the
     * region has types, the parts of what lives. A stack without frames is not known yet. */
    struct hs_snapshot *tables;
    struct hs_live_progress progress; /* as of the beginning of the last look */
    bool has_settled;                 /* the look before had the same progress */
    uint64_t time_ns;                 /* CLOCK_MONOTONIC of the last look that read the records */
};

/* Looks. 1: figures may have changed since the last look; 0: they have not; or see Fails. */
int hs_watch_look(struct hs_watch_look *look, struct hs_region *region, uint64_t now_ns);
/* Is it known what the frames of this stack are? */
bool hs_watch_look_knows(const struct hs_watch_look *look, uint32_t stack_id);
void hs_watch_look_deinit(struct hs_watch_look *look);
