/*
 * How much the program has allocated and freed, for heapscope_get_stats().
 *
 * The figures are added up from the counters that threads keep anyway, so nothing is counted for
 * them in malloc. What a thread has freed is not among these counters.
 *
 * Threads   any. Other threads go on meanwhile: their latest blocks may be missing.
 * Fails     -ENOTCONN: nothing is recorded.
 */
#pragma once

#include "fmt/api_layout.h"

/* Either may be NULL. 0 or -errno. */
int hs_api_stats_read(struct hs_api_stats_v1 *global, struct hs_api_stats_v1 *local);
