/*
 * `heapscope symbolize` for Perfetto traces, ours and those of heapprofd: writes packets with names
 * that can be appended to the trace.
 *
 * Threads   main thread only.
 */
#pragma once

struct hs_trace_input;

/* Writes the names of the trace `path`, which is open as `input`, to `output` ("-": standard
 * output). Takes over the input. Returns the exit status, after messages. */
int hs_symbolize_trace(const char *path, struct hs_trace_input *input, const char *output);
