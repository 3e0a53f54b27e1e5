/*
 * Names for the addresses of a trace, as packets that can be appended to it: `record` writes them
 * as `symbols`, and SQL needs them to see the names that PERFETTO_BINARY_PATH provides.
 *
 * Threads   main thread only.
 * Fails     -errno, and the codes of profile/read/load.h.
 * See       symbol_env.h, profile/model/symbol_packets.h
 */
#pragma once

#include "cli/read/symbol_env.h"
#include "util/buf.h"

/* Writes ModuleSymbols packets for the trace in the file `path` to `sink`. 0, -errno, or
 * HS_LOAD_E_... when the file is no profile. */
int hs_symbol_append_packets(const char *path, const struct hs_symbol_env *env,
                             hs_buf_sink_fn *sink, void *sink_ctx);

/* Copies the file ("-": standard input) to memory, followed by such packets if it is a trace.
 * Returns the descriptor, or -errno. */
int hs_symbol_append_copy(const char *path, const struct hs_symbol_env *env);
