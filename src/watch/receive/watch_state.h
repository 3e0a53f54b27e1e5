/*
 * What a viewer knows of a process that it watches: the updates that it has received, put together.
 *
 * The state is a snapshot (trace/snapshot.h) whose ids are those of the region, so that whatever
 * works on snapshots works on it: names, traces, profiles. Stacks that have not been sent have no
 * frames and no figures. Threads, ages, scopes and the peak are not watched. The snapshot has the
 * types, and the ledger; its parts are made when they are needed (watched_types.h).
 *
 *     struct hs_watch_state state;
 *     hs_watch_state_init(&state);
 *     hs_watch_state_apply(&state, update);              0 or -errno
 *     state.snap->stacks[i].live ...
 *     hs_watch_state_deinit(&state);
 *
 * Trust     an update may come from anybody: every id, length and figure is checked. The memory
 *           that a series of updates can claim is limited by HS_WATCH_*_MAX.
 * Holds     hs_snapshot_is_valid().
 * Threads   one.
 * Fails     -EPROTO: not an update that a worker sends; the state is then valid, and old or in
 *           between. -EFBIG: more than the limits; -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctl/ctl.pb-c.h"
#include "fmt/ctl_layout.h"
#include "trace/snapshot.h"

#define HS_WATCH_MODULES_MAX      65536U
#define HS_WATCH_STACKS_MAX       (UINT32_C(1) << 22)
#define HS_WATCH_FRAMES_MAX       (UINT32_C(1) << 24)
#define HS_WATCH_FRAME_IDS_MAX    (UINT32_C(1) << 27)
#define HS_WATCH_PARTS_MAX        (UINT32_C(1) << 22)
#define HS_WATCH_LEDGER_LINES_MAX (UINT32_C(1) << 20)

struct hs_watch_state {
    struct hs_snapshot *snap;
    uint64_t number;         /* of the last update; 0: none came */
    uint32_t host_pid;       /* of the process */
    uint64_t rss_bytes;      /* 0: unknown */
    uint64_t rss_anon_bytes; /* of these */
    uint64_t swap_bytes;
    uint64_t lost_count;  /* samples that were not recorded */
    uint64_t look_cpu_ns; /* what the worker's last look has cost */
    uint32_t interval_ms; /* until the next one */
    bool has_more;        /* rows are missing: sums of stacks are not those of the totals */
    uint32_t end;         /* enum hs_watch_end: not 0: there will be no other update */
    uint32_t *changed;    /* stacks of the rows of the last update */
    size_t changed_count;
    /* What of the stacks is of which type: watched_types.h. */
    bool has_types; /* the session does not leave types out */
    struct hs_snap_part *parts;
    size_t part_count;
    struct hs_snap_part *changed_parts; /* of the last update; those of nothing are gone */
    size_t changed_part_count;
    bool has_new_ledger; /* the last update brought that of the snapshot */
    /* The memory behind the arrays of the snapshot. */
    size_t module_capacity, frame_capacity, frame_id_capacity, stack_capacity, code_name_capacity,
        place_capacity, changed_capacity, changed_part_capacity, type_capacity;
    size_t *frame_id_first; /* by stack: its first frame in frame_ids */
    char **texts;           /* of the names of code: function and file of each */
    size_t text_count, text_capacity;
};

/* 0 or -ENOMEM. */
int hs_watch_state_init(struct hs_watch_state *ret_state);
/* Takes in an update. 0, or see Fails. */
int hs_watch_state_apply(struct hs_watch_state *state, const Hs__Ctl__Update *update);
void hs_watch_state_deinit(struct hs_watch_state *state);
