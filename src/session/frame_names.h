/*
 * Names for the frames of a dump, from symbol tables, while a trace is written.
 *
 * The file defines a frame before the dump that uses it, and readers take the first definition. So
 * the name of a frame must be known when the dump is written. Debug information is read once, at
 * the end (trace_names.h). A dump needs only names from symbol tables, and only for addresses that
 * are new in the file; in a long run, each dump brings fewer of them.
 *
 * Ensures   a look-up delays a dump by HS_FRAME_NAMES_MAX_MS at most; a frame whose name is not
 *           found by then has none. Look-ups take at most a twentieth of the time: after a slow one
 *           (a file system that does not answer) the next dumps have no names.
 * Threads   one user. It starts processes that read files of programs, and waits for them.
 * Fails     never: frames stay without names.
 * See       trace/trace_writer.h, symbol/symbolizer.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "session/jit_names.h"
#include "symbol/symbol_wanted.h"
#include "trace/trace_writer.h"

#define HS_FRAME_NAMES_MAX_MS 2000U
/* Look-ups take at most one part in HS_FRAME_NAMES_SHARE of the time. The first 100 ms are free. */
#define HS_FRAME_NAMES_SHARE   20U
#define HS_FRAME_NAMES_FREE_NS UINT64_C(100000000)

/* Empty when zero-initialized. */
struct hs_frame_names {
    /* files that were opened while their processes ran; NULL: none */
    const struct hs_target_files *files;
    struct hs_symbol_wanted wanted; /* of the last call, as are the tables */
    struct hs_symbol_table *tables;
    size_t table_count;
    struct hs_jit_names jit; /* of all dumps so far */
    uint64_t cpu_ns;         /* CPU time of the processes that read files, so far */
    uint64_t next_ns;        /* CLOCK_MONOTONIC: no look-up before that; 0: at once */
};

/* Sets the names of `count` frames of a snapshot, for as many as it finds. Has the form of
 * hs_trace_name_frames_fn; ctx is a struct hs_frame_names. */
void hs_frame_names_find(void *ctx, const struct hs_snapshot *snap, const uint32_t *frame_ids,
                         size_t count, struct hs_trace_frame_name *ret_names);
/* Has this frame of a snapshot been found as code made at run time, with a name? Such a frame has a
 * name of its own in the file, whatever is at its address later. ctx is a struct hs_frame_names. */
bool hs_frame_names_has_jit(void *ctx, const struct hs_snapshot *snap, uint32_t frame_id);
/* Frees what the last call found, and all names of code made at run time. */
void hs_frame_names_deinit(struct hs_frame_names *names);
