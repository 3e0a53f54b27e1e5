/*
 * Updates: what a viewer does not know yet of a process, as messages of ctl.proto.
 *
 * The worker keeps the figures that it has sent of each stack. An update has the rows whose figures
 * differ from those. So what has changed several times since is one row, and a viewer that does not
 * ask makes nothing grow. A large table comes in several updates, all of the same look.
 *
 *     struct hs_watch_sent sent = { 0 };
 *     int r = hs_watch_update_fill(&sent, &look, &update);
 *     ... send update.message ...
 *     hs_watch_update_deinit(&update);
 *
 * Ensures   what a row refers to has been sent with it or before.
 * Threads   one.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ctl/ctl.pb-c.h"
#include "watch/send/update_parts.h"
#include "watch/send/watch_look.h"

/* The most of each kind in one update, so that a message stays far below HS_CTL_FILE_MAX. */
#define HS_UPDATE_ROWS_MAX      65536U /* and as many parts */
#define HS_UPDATE_FRAME_IDS_MAX (UINT32_C(1) << 20)
#define HS_UPDATE_FRAMES_MAX    (UINT32_C(1) << 19)
#define HS_UPDATE_NAMES_MAX     4096U
#define HS_UPDATE_MODULES_MAX   2048U

/* What the viewer knows of a stack. */
struct hs_watch_sent_row {
    struct hs_estimate live, alloc;
    bool is_known;
};

/* What the viewer knows. Zeroed: nothing. */
struct hs_watch_sent {
    uint64_t number; /* of the last update */
    uint32_t module_count, frame_count, code_name_count;
    struct hs_watch_sent_row *rows; /* by stack id */
    size_t row_capacity;            /* rows that exist */
    uint32_t rows_max;              /* in an update; 0: HS_UPDATE_ROWS_MAX */
    uint32_t resume;                /* the stack to go on with: rows before it were looked at */
    struct hs_parts_sent parts;
};

struct hs_update_columns;

/* An update, with the memory that its message refers to. The caller sets the other fields of the
 * message. */
struct hs_watch_update {
    Hs__Ctl__Update message;
    size_t row_count; /* rows in it */
    Hs__Ctl__WatchedProcess process;
    Hs__Ctl__WatchedFrames frames;
    Hs__Ctl__WatchedStacks stacks;
    Hs__Ctl__WatchedRows rows;
    struct hs_update_parts parts;
    struct hs_update_columns *columns; /* owned */
};

/* Fills in the next update of a look: number, has_more, process (its figures and names), and all
 * tables. Notes in `sent` that it is sent. 0 or -ENOMEM; then the update is empty. */
int hs_watch_update_fill(struct hs_watch_sent *sent, const struct hs_region *region,
                         const struct hs_watch_look *look, struct hs_watch_update *ret_update);
void hs_watch_update_deinit(struct hs_watch_update *update);
void hs_watch_sent_deinit(struct hs_watch_sent *sent);
