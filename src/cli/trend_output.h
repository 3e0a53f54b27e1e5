/*
 * `heapscope diff --trend`: loads a profile and writes what grows over the snapshots of one process.
 *
 * Threads   main thread only.
 * Fails     in words; the exit status says so.
 */
#pragma once

#include "cli/compare.h"

/* Side `after` of a comparison is the file; its format is HS_COMPARE_TABLE or HS_COMPARE_JSON. */
int hs_trend_output_run(const struct hs_compare *compare);
