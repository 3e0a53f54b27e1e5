/*
 * `heapscope diff --trend`: loads a profile and writes what grows over the snapshots of one
 * process.
 *
 * Threads   main thread only.
 * Fails     with the exit status, after a message.
 */
#pragma once

#include "cli/read/compare.h"

/* Writes the trend of the file on side `after` of `compare`, as HS_COMPARE_TABLE or
 * HS_COMPARE_JSON. Returns the exit status. */
int hs_trend_output_run(const struct hs_compare *compare);
