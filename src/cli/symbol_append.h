/*
 * Names for the addresses of a trace, as packets that can be put behind it: what `record` leaves as `symbols`, and what
 * SQL needs to see names that PERFETTO_BINARY_PATH leads to.
 *
 * Threads   main thread only.
 * Fails     -errno, and the codes of profile/load.h.
 * See       symbol_env.h, profile/symbol_packets.h
 */
#pragma once

#include "cli/symbol_env.h"
#include "util/buf.h"

/* ModuleSymbols packets for the trace in the file `path`. HS_LOAD_E_... when that is no profile. */
int hs_symbol_append_packets(const char *path, const struct hs_symbol_env *env,
                             hs_buf_sink_fn *sink, void *sink_ctx);

/* A copy of the file ("-": standard input) in memory, with such packets behind it if it is a trace. The descriptor, or
 * -errno. */
int hs_symbol_append_copy(const char *path, const struct hs_symbol_env *env);
