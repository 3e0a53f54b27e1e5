/*
 * Names for the frames of a process that is watched: each is looked up once, in symbol tables, like
 * those of a dump (session/frame_names.h). So there are neither lines nor inlined functions.
 *
 * A look-up waits for processes that read files, for HS_FRAME_NAMES_MAX_MS at most, and look-ups
 * take at most a twentieth of the time.
 *
 *     struct hs_watch_names names = { 0 };
 *     hs_watch_names_look_up(&names, state.snap);       after updates with new frames
 *     config.name_frames = hs_watch_names_give;         for a trace of the state
 *
 * Threads   one.
 * Fails     never: frames stay without names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/frame_names.h"
#include "trace/snapshot.h"
#include "trace/trace_writer.h"

struct hs_watch_name {
    char *function; /* owned; NULL: it has none, or none was looked for */
    char *file;     /* owned; NULL: unknown */
    uint32_t line;
    bool is_looked_up;
};

/* Zeroed: no name is known. */
struct hs_watch_names {
    struct hs_frame_names finder;
    struct hs_target_files *files; /* that the process has mapped */
    struct hs_watch_name *list;    /* by frame id */
    size_t count, capacity;
};

/* Looks up the names of the frames that are new, if it is time for that. Returns whether names were
 * looked up. */
bool hs_watch_names_look_up(struct hs_watch_names *names, const struct hs_snapshot *snap);
/* Gives the names that are known. Has the form of hs_trace_name_frames_fn; ctx is a struct
 * hs_watch_names. */
void hs_watch_names_give(void *ctx, const struct hs_snapshot *snap, const uint32_t *frame_ids,
                         size_t count, struct hs_trace_frame_name *ret_names);
/* Frees everything. */
void hs_watch_names_deinit(struct hs_watch_names *names);
