/*
 * The frames of a trace that have no names yet, or a name without a file and line: what has to be
 * looked up to complete the trace with ModuleSymbols packets.
 *
 *     struct hs_nameless_frames frames = { 0 };
 *     int err = hs_nameless_frames_read(&frames, &input);
 *     ... hs_symbolizer_run(..., frames.requests, frames.request_count, &tables) ...
 *     hs_nameless_frames_keep_new(&frames, tables);
 *     hs_symbol_packets_write(writer, frames.requests, tables, frames.request_count);
 *     hs_nameless_frames_deinit(&frames);
 *
 * No profile is loaded: interned frames and the symbols that the file has are enough. Frames count
 * whether or not a sample refers to them, as in Perfetto's symbolizer. Memory is in proportion to
 * the distinct frames and to the interned data of one writer's state, not to the file.
 *
 * Only code in files is looked up. Frames of code that was made at run time, interpreted code and
 * the kernel's code are counted: no file elsewhere has their names.
 *
 * Threads   one user.
 * Fails     -ENOMEM, -EOVERFLOW; HS_TRACE_E_EMPTY, HS_TRACE_E_FOREIGN of trace_reader.h. Damage is
 *           not a failure: what could be read counts.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol_table.h"
#include "symbol/symbol_wanted.h"
#include "trace/trace_reader.h"

struct hs_trace_input;

struct hs_nameless_frames {
    const struct hs_symbol_request *requests; /* owned by `wanted` */
    size_t request_count;
    uint64_t frame_count;    /* distinct frames of code in files */
    uint64_t named_count;    /* of these, frames that have a name in the trace */
    uint64_t run_time_count; /* distinct other frames without a name */
    struct hs_trace_damage damage;

    struct hs_symbol_wanted wanted;
    uint8_t **has_name; /* by request and address: 1 for one that needs only its line */
};

/* Reads a trace. Takes over the input, also if the call fails. */
int hs_nameless_frames_read(struct hs_nameless_frames *frames, struct hs_trace_input *input);
/* Frees everything. */
void hs_nameless_frames_deinit(struct hs_nameless_frames *frames);

/* Leaves out of the tables of the requests what adds nothing to the trace: names without a line for
 * frames that have a name. Returns how many frames that had no name have one now. */
uint64_t hs_nameless_frames_keep_new(const struct hs_nameless_frames *frames,
                                     struct hs_symbol_table *tables);
/* How many frames of a request have no name in the trace. */
size_t hs_nameless_frames_count(const struct hs_nameless_frames *frames, size_t request);
