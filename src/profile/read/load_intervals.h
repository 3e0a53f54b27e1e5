/*
 * The intervals at which a process was sampled: it began with one, and budgets may have changed it.
 *
 * A dump names the interval in force. Its samples may have been taken at any of the earlier ones.
 * Their margins need the widest interval; hs_margin_split(), which divides a variance by the
 * interval, needs the narrowest (margin.h).
 *
 * Holds     0 < narrowest <= widest, unless the dump names no interval at all.
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/proto/perfetto.pb-c.h"

struct hs_load_intervals {
    uint64_t narrowest_bytes, widest_bytes;
};

/*
 * The narrowest and the widest of all intervals that a dump names: in force, asked for, changed
 * from or to.
 */
struct hs_load_intervals hs_load_intervals_of(const Hs__Pb__HsDump *dump);

/* Is this one of them? */
bool hs_load_intervals_have(const Hs__Pb__HsDump *dump, uint64_t interval_bytes);
