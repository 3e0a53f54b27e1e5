/*
 * `heapscope symbolize` for MemoryInfra traces, which it rewrites in place.
 *
 * A frame whose name is not found stays an address, so that a later call can find it with other
 * files.
 *
 * Threads   main thread only.
 */
#pragma once

#include <stdbool.h>

struct hs_trace_input;

/* Puts names into the file at `path`, which is open as `input`. Takes over the input. Returns the
 * exit status, after messages. */
int hs_symbolize_infra(const char *path, struct hs_trace_input *input, bool has_backup);
