/*
 * Clocks: collects what clocks showed at the same moments, and converts any time to the trace's own
 * clock.
 *
 * Two clocks that were read in one snapshot are neighbours. A time is converted from neighbour to
 * neighbour along the shortest path, each time by the last snapshot at or before it, or by the
 * first snapshot if the time is earlier than all of them.
 *
 * Clocks of a machine have ids below 64 or above 127; the others belong to one packet sequence.
 *
 * Holds     at most 64 clocks of all sequences together; further clocks are unknown.
 * Threads   one user.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/proto/perfetto.pb-c.h"

#define HS_CLOCK_REALTIME         1U
#define HS_CLOCK_MONOTONIC        3U
#define HS_CLOCK_MONOTONIC_COARSE 4U
#define HS_CLOCK_BOOTTIME         6U

struct hs_clocks;

/* Returns 0 or -ENOMEM. */
int hs_clocks_new(struct hs_clocks **ret_clocks);
/* NULL is allowed. */
void hs_clocks_free(struct hs_clocks *clocks);

/* Adds a snapshot; `sequence` is the id of its packet's sequence. */
int hs_clocks_take(struct hs_clocks *clocks, uint32_t sequence,
                   const Hs__Pb__ClockSnapshot *snapshot);
/* How many pairs of readings went back in time. They were left out, since they would break the
 * order of all others. */
uint64_t hs_clocks_back_count(const struct hs_clocks *clocks);

/* The id of the trace's clock: the one that the first snapshot names, or CLOCK_BOOTTIME. */
uint32_t hs_clocks_trace_clock(const struct hs_clocks *clocks);
/* Converts a time to the trace's clock. Returns false and writes nothing if no snapshots connect
 * the clocks. `sequence` is 0 for clocks of the machine. */
bool hs_clocks_convert(const struct hs_clocks *clocks, uint32_t sequence, uint32_t clock_id,
                       uint64_t value, int64_t *ret_ns);
/* The absolute time for a packet's timestamp. On an incremental clock, a timestamp is the
 * difference to the previous one. */
uint64_t hs_clocks_step(struct hs_clocks *clocks, uint32_t sequence, uint32_t clock_id,
                        uint64_t value);

/* What must be added to a time of CLOCK_MONOTONIC to get that of another clock of the machine, by
 * the last snapshot that has both. False: none has. A coarse clock serves where the snapshot has no
 * exact one. */
bool hs_clocks_last_shift(const struct hs_clocks *clocks, uint32_t clock_id, uint64_t *ret_ns);
