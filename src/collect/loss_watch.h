/*
 * When a target lost something: looks from time to time at how often its client has counted a loss.
 *
 *     hs_loss_watch_look(&watch, &region, start_ns, now_ns);      whenever there is time
 *     hs_loss_watch_describe(&watch, start_ns, end_ns, snap);     for each snapshot
 *
 * The client has counters only, and so costs nothing for this. A time is therefore the span between
 * two looks: the counter grew after the first one began, and before the second one ended. A loss
 * that a thread without counters has is counted later, when a thread gets some.
 *
 * A kind of loss that is found at several looks in a row has one span for all of them. When there
 * are more than HS_SNAP_LOSS_TIMES_MAX spans, the two of one kind with the shortest pause between
 * them become one.
 *
 * Holds     a watch has at most HS_SNAP_LOSS_TIMES_MAX spans, in the order of their beginnings, and
 *           none is empty.
 * Ensures   the counts of a kind's spans add up to what the snapshot counts of it, as long as the
 *           counters only grow.
 * Threads   one.
 * Fails     without memory, or when the counters cannot be read, spans are missing or longer.
 */
#pragma once

#include <stdint.h>

#include "collect/region/region_reader.h"
#include "trace/snapshot.h"

/* Zeroed: it has not looked yet. */
struct hs_loss_watch {
    uint64_t next_ns;                /* when it looks again */
    uint64_t begin_ns, end_ns;       /* of the last look; 0: there was none */
    uint64_t seen_count[HS_LOSS_N];  /* at the last look */
    struct hs_snap_loss_time *times; /* owned; NULL: nothing was lost */
    uint32_t count;
};

/* Looks, if it is time to. `start_ns`: when the recording began. */
void hs_loss_watch_look(struct hs_loss_watch *watch, const struct hs_region *region,
                        uint64_t start_ns, uint64_t now_ns);

/* The counters had these values at a moment in [begin_ns, end_ns]. */
void hs_loss_watch_note(struct hs_loss_watch *watch, const uint64_t counts[HS_LOSS_N],
                        uint64_t start_ns, uint64_t begin_ns, uint64_t end_ns);

/* Notes what the snapshot counts, and gives it a copy of the spans of the kinds that it counts. The
 * counters were read before `end_ns`. */
void hs_loss_watch_describe(struct hs_loss_watch *watch, uint64_t start_ns, uint64_t end_ns,
                            struct hs_snapshot *snap);

/* Frees what it owns; it may be used again. */
void hs_loss_watch_deinit(struct hs_loss_watch *watch);
