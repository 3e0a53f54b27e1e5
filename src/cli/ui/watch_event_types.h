/*
 * Types of blocks in the events of a watch: what of a stack's live memory is of which type, by what
 * memory tells, and by what the names of its frames tell.
 *
 *     hs_event_types_name(&types, frame, name);             when a frame has got a name
 *     hs_event_types_note(&types, state, is_stack_sent);    after each update
 *     hs_event_types_write(&types, state, put_string, ctx, json);    when the look is complete
 *     hs_event_types_deinit(&types);
 *
 * Trust     as watch_events.h.
 * Threads   one.
 * Fails     -ENOMEM.
 * See       profile/model/frame_types.h, which does the same in a profile
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/json.h"
#include "watch/receive/watch_state.h"

/* What the frames of a stack say. */
struct hs_event_stack_type {
    char *name; /* owned; NULL: nothing */
    bool is_given, is_looked_at;
    bool is_listed;    /* in `stacks`, to be sent */
    bool has_sent_any; /* the viewer knows types of it */
};

/* Zeroed: nothing was sent. */
struct hs_event_types {
    char **frame_names; /* owned; by frame; NULL: it has none */
    size_t frame_capacity;
    struct hs_event_stack_type *of_stack;
    size_t stack_capacity;
    uint32_t *stacks; /* that are to be sent */
    size_t stack_count, list_capacity;
};

/* The number of a string, which is sent with the event. */
typedef uint32_t hs_event_put_string_fn(void *ctx, const char *text);

/* The name of a frame, demangled, has been found or has changed. 0, or see Fails. */
int hs_event_types_name(struct hs_event_types *types, uint32_t frame_id, const char *name);
/* Notes of which stacks the types have to be sent: those that an update has changed, and those that
 * have one of these frames. 0, or see Fails. */
int hs_event_types_note(struct hs_event_types *types, const struct hs_watch_state *state,
                        const bool *is_stack_sent, const uint32_t *frames, size_t frame_count);
/* Writes the member "types": null while the session leaves types out; without rows while the look
 * is not complete. 0, or see Fails. */
int hs_event_types_write(struct hs_event_types *types, const struct hs_watch_state *state,
                         hs_event_put_string_fn *put_string, void *ctx, struct hs_json *json);
void hs_event_types_deinit(struct hs_event_types *types);
