/*
 * Names for the frames of a dump, from symbol tables, while a trace is written.
 *
 * A frame is defined in the file before the dump that uses it, and readers take its first definition; so whatever name
 * it is to have must be known by then. Debug information is read once, at the end (trace_names.h); what a dump needs
 * are names alone, from symbol tables, and only for addresses that the file has not had before: of a long run, fewer with
 * each dump.
 *
 * Holds     a dump is held up for HS_FRAME_NAMES_MAX_MS at most; what has no name by then gets none. Lookups take at most a
 *           twentieth of the time: after a slow one (a file system that does not answer) the next dumps have no names.
 * Threads   one user. It starts processes that read files of programs, and waits for them.
 * Fails     never: frames stay without names.
 * See       trace/trace_writer.h, symbol/symbolizer.h
 */
#pragma once

#include <stdint.h>

#include "symbol/symbol_wanted.h"
#include "trace/trace_writer.h"

#define HS_FRAME_NAMES_MAX_MS 2000U
/* Lookups take one part in so many of the time. The first 100 ms are free. */
#define HS_FRAME_NAMES_SHARE   20U
#define HS_FRAME_NAMES_FREE_NS UINT64_C(100000000)

/* Zero-initialised is empty. */
struct hs_frame_names {
    struct hs_symbol_wanted wanted; /* of the last call, as are the tables */
    struct hs_symbol_table *tables;
    size_t table_count;
    uint64_t cpu_ns;  /* of the processes that read files, so far */
    uint64_t next_ns; /* CLOCK_MONOTONIC: none are looked up before; 0: now */
};

/* As hs_trace_name_frames_fn; ctx is a struct hs_frame_names. */
void hs_frame_names_find(void *ctx, const struct hs_snapshot *snap, const uint32_t *frame_ids,
                         size_t count, const char **ret_names);
void hs_frame_names_deinit(struct hs_frame_names *names);
