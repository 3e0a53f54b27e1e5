/*
 * Writes types of a watch: see watch_event_types.h.
 */
#include "cli/ui/watch_event_types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/allocated_type.h"
#include "util/array.h"
#include "watch/receive/watched_types.h"

#define FRAMES_MAX      8U /* the innermost ones */
#define NAME_BYTES_MAX  1024U
#define FRAME_BYTES_MAX 4096U /* a longer name is cut: its type would be too long */

void hs_event_types_deinit(struct hs_event_types *types)
{
    for (size_t i = 0; i < types->frame_capacity; i++) {
        free(types->frame_names[i]);
    }
    for (size_t i = 0; i < types->stack_capacity; i++) {
        free(types->of_stack[i].name);
    }
    free(types->frame_names);
    free(types->of_stack);
    free(types->stacks);
    *types = (struct hs_event_types){ .stacks = NULL };
}

int hs_event_types_name(struct hs_event_types *types, uint32_t frame_id, const char *name)
{
    int r = hs_array_reserve_zeroed(&types->frame_names, &types->frame_capacity,
                                    (size_t)frame_id + 1, sizeof(types->frame_names[0]));
    char *copy = r == 0 ? strndup(name, FRAME_BYTES_MAX) : NULL;
    if (!copy) {
        return -ENOMEM;
    }
    free(types->frame_names[frame_id]);
    types->frame_names[frame_id] = copy;
    return 0;
}

/* --- which stacks ----------------------------------------------------------------------------- */

static int list(struct hs_event_types *types, uint32_t stack_id)
{
    if (types->of_stack[stack_id].is_listed) {
        return 0;
    }
    int r = hs_array_reserve(&types->stacks, &types->list_capacity, types->stack_count + 1,
                             sizeof(types->stacks[0]));
    if (r == 0) {
        types->stacks[types->stack_count++] = stack_id;
        types->of_stack[stack_id].is_listed = true;
    }
    return r;
}

/* Lists the stacks whose innermost frames are among those with another name. */
static int list_renamed(struct hs_event_types *types, const struct hs_snapshot *snap,
                        const bool *is_stack_sent, const bool *is_renamed)
{
    int r = 0;
    for (uint32_t id = 0; r == 0 && id < snap->stack_count; id++) {
        const struct hs_snap_stack *stack = &snap->stacks[id];
        bool is_one = false;
        for (uint16_t i = 0; is_stack_sent[id] && i < stack->frame_count && i < FRAMES_MAX; i++) {
            is_one |= is_renamed[stack->frame_ids[i]];
        }
        if (is_one) {
            types->of_stack[id].is_looked_at = false;
            r = list(types, id);
        }
    }
    return r;
}

int hs_event_types_note(struct hs_event_types *types, const struct hs_watch_state *state,
                        const bool *is_stack_sent, const uint32_t *frames, size_t frame_count)
{
    const struct hs_snapshot *snap = state->snap;
    if (!state->has_types) {
        return 0;
    }
    int r = hs_array_reserve_zeroed(&types->of_stack, &types->stack_capacity,
                                    (size_t)snap->stack_count + 1, sizeof(types->of_stack[0]));
    for (size_t i = 0; r == 0 && i < state->changed_count; i++) {
        r = list(types, state->changed[i]);
    }
    for (size_t i = 0; r == 0 && i < state->changed_part_count; i++) {
        r = list(types, state->changed_parts[i].key.stack_id);
    }
    if (r < 0 || frame_count == 0) {
        return r;
    }
    bool *is_renamed = calloc((size_t)snap->frame_count + 1, sizeof(is_renamed[0]));
    for (size_t i = 0; is_renamed && i < frame_count; i++) {
        is_renamed[frames[i]] = true;
    }
    r = is_renamed ? list_renamed(types, snap, is_stack_sent, is_renamed) : -ENOMEM;
    free(is_renamed);
    return r;
}

/* --- what the frames say ---------------------------------------------------------------------- */

static int look_at_frames(struct hs_event_types *types, const struct hs_snapshot *snap,
                          uint32_t stack_id)
{
    struct hs_event_stack_type *type = &types->of_stack[stack_id];
    const struct hs_snap_stack *stack = &snap->stacks[stack_id];
    struct hs_allocating_frame frames[FRAMES_MAX];
    char name[NAME_BYTES_MAX];
    size_t count = 0;
    if (type->is_looked_at) {
        return 0;
    }
    for (; count < FRAMES_MAX && count < stack->frame_count; count++) {
        uint32_t id = stack->frame_ids[count];
        const char *known = id < types->frame_capacity ? types->frame_names[id] : NULL;
        frames[count] = (struct hs_allocating_frame){ known ? known : "", false };
    }
    enum hs_allocated allocated = hs_allocated_type(frames, count, name, sizeof(name));
    char *copy = allocated != HS_ALLOCATED_UNKNOWN ? strdup(name) : NULL;
    if (allocated != HS_ALLOCATED_UNKNOWN && !copy) {
        return -ENOMEM;
    }
    free(type->name);
    type->name = copy;
    type->is_given = allocated == HS_ALLOCATED_GIVEN;
    type->is_looked_at = true;
    return 0;
}

static bool is_array_of(const char *type, const char *read)
{
    size_t bytes = strlen(read);
    return bytes > 0 && strncmp(type, read, bytes) == 0 && strcmp(type + bytes, "[]") == 0;
}

/* The type of a part, as a profile has it. */
static const char *type_of(const struct hs_watch_state *state,
                           const struct hs_event_stack_type *by_stack,
                           const struct hs_snap_part *part)
{
    uint32_t id = part->key.type_id;
    const char *read = id == 0 ? "" : hs_watched_type_name(state->snap, id);
    read = read ? read : "";
    bool is_unknown = id == 0 || id == HS_PART_NOT_READ;
    if (by_stack->name && !hs_part_type_is_given(id) &&
        (by_stack->is_given || is_unknown || is_array_of(by_stack->name, read))) {
        return by_stack->name;
    }
    return id == 0 && !state->snap->has_types ? HS_PART_NOT_READ_NAME : read;
}

/* --- writing ---------------------------------------------------------------------------------- */

struct row {
    uint32_t stack_id, string;
    struct hs_estimate amount;
};

struct rows {
    struct row *items;
    size_t count, capacity;
};

static int add_row(struct rows *rows, uint32_t stack_id, uint32_t string,
                   const struct hs_estimate *amount)
{
    int r =
        hs_array_reserve(&rows->items, &rows->capacity, rows->count + 1, sizeof(rows->items[0]));
    if (r == 0) {
        rows->items[rows->count++] = (struct row){ stack_id, string, *amount };
    }
    return r;
}

/* Adds the types of a stack, all of them: they replace what the viewer knows. What has no type
 * needs no row. */
static int add_stack(struct hs_event_types *types, const struct hs_watch_state *state,
                     uint32_t stack_id, hs_event_put_string_fn *put_string, void *ctx,
                     struct rows *rows)
{
    struct hs_event_stack_type *type = &types->of_stack[stack_id];
    struct hs_snap_part rest = { .key = { .stack_id = stack_id } };
    size_t first, end;
    int r = look_at_frames(types, state->snap, stack_id);
    bool has_any = false;
    hs_watched_types_of(state, stack_id, &first, &end, &rest.amount);
    for (size_t i = first; r == 0 && i <= end; i++) {
        const struct hs_snap_part *part = i < end ? &state->parts[i] : &rest;
        const char *name = type_of(state, type, part);
        if (name[0] && (part->amount.bytes > 0 || part->amount.count > 0)) {
            r = add_row(rows, stack_id, put_string(ctx, name), &part->amount);
            has_any = true;
        }
    }
    if (r == 0 && !has_any && type->has_sent_any) {
        r = add_row(rows, stack_id, put_string(ctx, ""), &(struct hs_estimate){ 0 });
    }
    type->has_sent_any = has_any;
    type->is_listed = false;
    return r;
}

static void write_rows(const struct rows *rows, struct hs_json *json)
{
    static const char *const keys[] = { "stack", "type", "live_bytes", "live_count" };
    hs_json_open(json, '{');
    for (unsigned column = 0; column < HS_COUNT_OF(keys); column++) {
        hs_json_key(json, keys[column]);
        hs_json_open(json, '[');
        for (size_t i = 0; i < rows->count; i++) {
            const struct row *row = &rows->items[i];
            const double figures[] = { row->stack_id, row->string, row->amount.bytes,
                                       row->amount.count };
            hs_json_double(json, figures[column]);
        }
        hs_json_close(json, ']');
    }
    hs_json_close(json, '}');
}

int hs_event_types_write(struct hs_event_types *types, const struct hs_watch_state *state,
                         hs_event_put_string_fn *put_string, void *ctx, struct hs_json *json)
{
    struct rows rows = { .count = 0 };
    int r = 0;
    hs_json_key(json, "types");
    if (!state->has_types) {
        hs_json_null(json);
        return 0;
    }
    if (!state->has_more) {
        for (size_t i = 0; r == 0 && i < types->stack_count; i++) {
            r = add_stack(types, state, types->stacks[i], put_string, ctx, &rows);
        }
        types->stack_count = 0;
    }
    write_rows(&rows, json);
    free(rows.items);
    return r;
}
