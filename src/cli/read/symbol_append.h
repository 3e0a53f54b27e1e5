/*
 * Names for the frames of a trace, as packets that can be appended to it: `symbolize` and `record`
 * write them, `bundle` packs them, and SQL needs them to see the names of the user's sources.
 *
 *     struct hs_symbol_append found;
 *     int err = hs_symbol_append_find(path, &input, &sources, &found);
 *     err = err ? err : hs_symbol_append_write(&found, sink, sink_ctx);
 *     hs_symbol_append_deinit(&found);
 *
 * Threads   main thread only.
 * Fails     -errno, and the codes of profile/read/load.h.
 * See       symbol_sources.h, profile/read/nameless_frames.h, profile/model/symbol_packets.h
 */
#pragma once

#include "cli/read/symbol_sources.h"
#include "profile/read/nameless_frames.h"
#include "util/buf.h"

struct hs_trace_input;

struct hs_symbol_append {
    struct hs_nameless_frames frames;
    struct hs_symbol_table *tables; /* by request of `frames`: what the trace does not have */
    uint64_t new_count;             /* frames that had no name and have one now */
};

/* Looks up the names of the trace `path`, which is open as `input`. Takes over the input. */
int hs_symbol_append_find(const char *path, struct hs_trace_input *input,
                          const struct hs_name_sources *sources,
                          struct hs_symbol_append *ret_found);
/* Frees everything; also after a failure of hs_symbol_append_find(). */
void hs_symbol_append_deinit(struct hs_symbol_append *found);
/* Writes ModuleSymbols packets. 0 or -errno. */
int hs_symbol_append_write(const struct hs_symbol_append *found, hs_buf_sink_fn *sink,
                           void *sink_ctx);
/* The same into a buffer. */
int hs_symbol_append_fill(const struct hs_symbol_append *found, struct hs_buf *buf);
/* True: there are packets to write. */
bool hs_symbol_append_has_packets(const struct hs_symbol_append *found);
/* Says of each module that has nameless frames only why that is. Returns how many those are. */
size_t hs_symbol_append_say_missing(const struct hs_symbol_append *found);

/* All three for the trace in the file `path`. HS_LOAD_E_... when the file is no profile. */
int hs_symbol_append_packets(const char *path, const struct hs_name_sources *sources,
                             hs_buf_sink_fn *sink, void *sink_ctx);

/* Copies the file ("-": standard input) to memory, followed by such packets if it is a trace.
 * Returns the descriptor, or -errno. */
int hs_symbol_append_copy(const char *path, const struct hs_name_sources *sources);
