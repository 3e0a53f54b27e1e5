/*
 * What a browser gets of a watched process: the updates of a watch (watch/receive) as server-sent
 * events with JSON, each with what is new since the one before.
 *
 *     struct hs_watch_events events = { 0 };
 *     hs_watch_events_write(&events, &link.state, &names, true, out);    after each update
 *     hs_watch_events_deinit(&events);
 *
 * Strings, frames and stacks are sent once, and referred to by their numbers. A frame is sent with
 * the stack that needs it, and again when its name is found or its class changes. Stacks are paths
 * in a tree of calls, of which each node is sent once: a million stacks of twenty frames have some
 * two million nodes.
 *
 * Trust     names come from the process: they are text in JSON.
 * Threads   one.
 * Fails     -ENOMEM, or as the buffer does.
 * See       docs/UI.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/ui/watch_event_types.h"
#include "util/buf.h"
#include "util/intern.h"
#include "watch/receive/watch_names.h"
#include "watch/receive/watch_state.h"

/* Zeroed: nothing was sent. */
struct hs_watch_events {
    struct hs_intern strings;
    struct hs_buf new_strings; /* of this event, each ended by NUL */
    uint32_t *frames; /* by frame: 1 + the number of the string that is its function; 0: not sent */
    size_t frame_capacity;
    uint8_t *classes; /* by frame that was sent: enum hs_frame_class */
    size_t class_capacity;
    struct hs_intern nodes; /* calls that were sent, by the number of the caller and the frame */
    uint32_t languages;     /* of its interpreted functions: bits by enum hs_code_language */
    bool *stacks;           /* by stack: it was sent */
    size_t stack_capacity;
    struct hs_event_types types;
    int err; /* of this event */
};

/* Writes an event with the figures and with the rows that changed. `has_names`: names were looked
 * up since the last event. 0, or see Fails. */
int hs_watch_events_write(struct hs_watch_events *events, const struct hs_watch_state *state,
                          const struct hs_watch_names *names, bool has_names, struct hs_buf *out);
/* Frees the memory. */
void hs_watch_events_deinit(struct hs_watch_events *events);
