/*
 * The intervals that a process was sampled at: it began with one, and budgets changed it.
 *
 * A dump says which one is in force. Its samples may be of any of them, so their margins need the widest, and
 * what is told apart by "variance / interval" needs the narrowest (margin.h).
 *
 * Holds     0 < narrowest <= widest, unless the dump names no interval at all.
 * Threads   pure functions.
 */
#pragma once

#include <stdint.h>

#include "trace/proto/perfetto.pb-c.h"

struct hs_load_intervals {
    uint64_t narrowest_bytes, widest_bytes;
};

/* Those in force, asked for, and changed from or to. */
struct hs_load_intervals hs_load_intervals_of(const Hs__Pb__HsDump *dump);
