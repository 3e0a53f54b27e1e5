/*
 * Updates as events: see watch_events.h.
 */
#include "cli/ui/watch_events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ui/watch_event_classes.h"
#include "rt/text.h"
#include "symbol/demangle.h"
#include "util/array.h"
#include "util/json.h"
#include "view/report.h"
#include "watch/receive/watch_profile.h"

#define NS_PER_MS 1e6

/* The number of a string, which is sent with this event if it is new. */
static uint32_t put_string(void *ctx, const char *text)
{
    struct hs_watch_events *events = ctx;
    uint32_t id = 0;
    bool is_new = false;
    int r = hs_intern_put(&events->strings, hs_intern_hash(text, strlen(text)), &id, &is_new);
    if (r == 0 && is_new) {
        hs_buf_add(&events->new_strings, text, strlen(text) + 1);
    }
    events->err = events->err ? events->err : r;
    return id;
}

/* --- frames ----------------------------------------------------------------------------------- */

static const char *code_module_of(const struct hs_snapshot *snap, const struct hs_snap_frame *frame)
{
    bool is_code = !(frame->flags & (HS_FRAME_MARKER | HS_FRAME_NAMED));
    const char *path = is_code && frame->module_id < snap->module_count
                           ? snap->modules[frame->module_id].path
                           : "";
    return path ? path : "";
}

/* The module, or the source file of a function that an interpreter runs. */
static const char *module_of(const struct hs_snapshot *snap, const struct hs_snap_frame *frame)
{
    bool is_named = (frame->flags & HS_FRAME_NAMED) && frame->pc < snap->code_name_count;
    const char *file = is_named ? snap->code_names[frame->pc].file : NULL;
    return is_named ? (file ? file : "") : code_module_of(snap, frame);
}

static void name_interpreted(const struct hs_snapshot *snap, uint64_t idx, char *out, size_t bytes)
{
    const struct hs_snap_code_name *name =
        idx < snap->code_name_count ? &snap->code_names[idx] : NULL;
    bool has_function = name && name->function && name->function[0];
    /* Python calls the code of every file "<module>": such a name is no name without its file. */
    bool has_file = has_function && name->function[0] == '<' && name->file && name->file[0];
    snprintf(out, bytes, "%s%s%s%s", has_function ? name->function : "[unknown]",
             has_file ? " (" : "", has_file ? hs_text_base_name(name->file) : "",
             has_file ? ")" : "");
}

/* The function of a frame, or what stands for it. */
static void name_frame(const struct hs_snapshot *snap, const struct hs_watch_names *names,
                       uint32_t id, char *out, size_t bytes)
{
    const struct hs_snap_frame *frame = &snap->frames[id];
    const char *known = id < names->count ? names->list[id].function : NULL;
    if (frame->flags & HS_FRAME_NAMED) {
        name_interpreted(snap, frame->pc, out, bytes);
    } else if (frame->flags & HS_FRAME_MARKER) {
        snprintf(out, bytes, "%s", frame->pc == HS_FRAME_PC_CUT ? "[stack cut]" : "[stack ends]");
    } else if (!known) {
        snprintf(out, bytes, "%s+0x%" PRIx64, hs_text_base_name(module_of(snap, frame)),
                 frame->rel_pc);
    } else if (!hs_demangle(known, out, bytes)) {
        snprintf(out, bytes, "%s", known);
    }
}

/* The number of its function, and its class; is one of them another one than was sent? */
static bool is_frame_new(struct hs_watch_events *events, const struct hs_snapshot *snap,
                         const struct hs_watch_names *names, uint32_t id)
{
    static char name[HS_DEMANGLED_BYTES_MAX];
    const struct hs_snap_frame *frame = &snap->frames[id];
    bool is_known = id < names->count && names->list[id].function;
    name_frame(snap, names, id, name, sizeof(name));
    uint32_t sent = 1 + put_string(events, name);
    uint8_t class_ = (uint8_t)hs_event_class_of(events->languages, snap, frame,
                                                is_known ? name : "", code_module_of(snap, frame));
    bool is_renamed = events->frames[id] != sent;
    bool is_new = is_renamed || events->classes[id] != class_;
    events->frames[id] = sent;
    events->classes[id] = class_;
    if (is_renamed) {
        int r = hs_event_types_name(&events->types, id, name);
        events->err = events->err ? events->err : r;
    }
    return is_new;
}

/* Ids of frames, to be written as columns. */
struct ids {
    uint32_t *items;
    size_t count, capacity;
};

static void add_id(struct hs_watch_events *events, struct ids *ids, uint32_t id)
{
    int r = hs_array_reserve(&ids->items, &ids->capacity, ids->count + 1, sizeof(ids->items[0]));
    if (r == 0) {
        ids->items[ids->count++] = id;
    }
    events->err = events->err ? events->err : r;
}

/* Have these new stacks the first function of a language? Then functions of its interpreter have
 * another class than before. */
static bool has_new_language(struct hs_watch_events *events, const struct hs_snapshot *snap,
                             const struct ids *stacks)
{
    bool is_new = false;
    for (size_t i = 0; i < stacks->count; i++) {
        const struct hs_snap_stack *stack = &snap->stacks[stacks->items[i]];
        for (uint16_t j = 0; j < stack->frame_count; j++) {
            const struct hs_snap_frame *frame = &snap->frames[stack->frame_ids[j]];
            is_new |= hs_event_classes_note(&events->languages, snap, frame);
        }
    }
    return is_new;
}

static void collect_frames(struct hs_watch_events *events, const struct hs_watch_state *state,
                           const struct hs_watch_names *names, bool has_names,
                           const struct ids *stacks, struct ids *ret_frames)
{
    const struct hs_snapshot *snap = state->snap;
    has_names |= has_new_language(events, snap, stacks);
    for (uint32_t id = 0; has_names && id < snap->frame_count; id++) {
        if (events->frames[id] != 0 && is_frame_new(events, snap, names, id)) {
            add_id(events, ret_frames, id);
        }
    }
    for (size_t i = 0; i < stacks->count; i++) {
        const struct hs_snap_stack *stack = &snap->stacks[stacks->items[i]];
        for (uint16_t j = 0; j < stack->frame_count; j++) {
            uint32_t id = stack->frame_ids[j];
            if (events->frames[id] == 0 && is_frame_new(events, snap, names, id)) {
                add_id(events, ret_frames, id);
            }
        }
    }
}

static void write_ids(struct hs_json *json, const char *key, const uint32_t *ids, size_t count)
{
    hs_json_key(json, key);
    hs_json_open(json, '[');
    for (size_t i = 0; i < count; i++) {
        hs_json_uint(json, ids[i]);
    }
    hs_json_close(json, ']');
}

static void write_frames(struct hs_watch_events *events, const struct hs_snapshot *snap,
                         const struct ids *frames, struct hs_json *json)
{
    hs_json_key(json, "frames");
    hs_json_open(json, '{');
    write_ids(json, "id", frames->items, frames->count);
    hs_json_key(json, "function");
    hs_json_open(json, '[');
    for (size_t i = 0; i < frames->count; i++) {
        hs_json_uint(json, events->frames[frames->items[i]] - 1);
    }
    hs_json_close(json, ']');
    hs_json_key(json, "module");
    hs_json_open(json, '[');
    for (size_t i = 0; i < frames->count; i++) {
        hs_json_uint(json, put_string(events, module_of(snap, &snap->frames[frames->items[i]])));
    }
    hs_json_close(json, ']');
    hs_json_key(json, "class");
    hs_json_open(json, '[');
    for (size_t i = 0; i < frames->count; i++) {
        hs_json_uint(json, events->classes[frames->items[i]]);
    }
    hs_json_close(json, ']');
    hs_json_close(json, '}');
}

/* --- stacks and rows -------------------------------------------------------------------------- */

/* The number of the call of a frame by a caller, from 1 on; 0 is no caller. */
static uint32_t put_node(struct hs_watch_events *events, uint32_t caller, uint32_t frame)
{
    const struct hs_intern_key key = { .hi = (uint64_t)caller << 32, .lo = frame };
    uint32_t id = 0;
    bool is_new;
    int r = hs_intern_put(&events->nodes, key, &id, &is_new);
    events->err = events->err ? events->err : r;
    return id + 1;
}

/* The number of the innermost call of a stack. `path` has the numbers of the calls of the one
 * before, the outermost first, of which those that they have in common stay. */
static uint32_t put_stack(struct hs_watch_events *events, const struct hs_snap_stack *stack,
                          const struct hs_snap_stack *before, uint32_t *path)
{
    uint16_t common = 0, count = stack->frame_count;
    uint16_t before_count = before ? before->frame_count : 0;
    while (common < count && common < before_count &&
           stack->frame_ids[count - 1 - common] == before->frame_ids[before_count - 1 - common]) {
        common++;
    }
    for (uint16_t depth = common; depth < count; depth++) {
        path[depth] =
            put_node(events, depth > 0 ? path[depth - 1] : 0, stack->frame_ids[count - 1 - depth]);
    }
    return count > 0 ? path[count - 1] : 0;
}

/* Puts the stacks into the tree of calls. `ret_nodes`: the innermost call of each. */
static void put_stacks(struct hs_watch_events *events, const struct hs_snapshot *snap,
                       const struct ids *stacks, struct ids *ret_nodes)
{
    uint32_t *path = calloc(UINT16_MAX + 1U, sizeof(path[0]));
    events->err = events->err || path ? events->err : -ENOMEM;
    for (size_t i = 0; path && i < stacks->count && events->err == 0; i++) {
        const struct hs_snap_stack *before = i > 0 ? &snap->stacks[stacks->items[i - 1]] : NULL;
        add_id(events, ret_nodes, put_stack(events, &snap->stacks[stacks->items[i]], before, path));
    }
    free(path);
}

/* Calls that no earlier event has sent; a caller comes before what it calls. */
static void write_nodes(const struct hs_watch_events *events, uint32_t first, struct hs_json *json)
{
    hs_json_key(json, "nodes");
    hs_json_open(json, '{');
    hs_json_key(json, "caller");
    hs_json_open(json, '[');
    for (uint32_t i = first; i < events->nodes.count; i++) {
        hs_json_uint(json, events->nodes.keys[i].hi >> 32);
    }
    hs_json_close(json, ']');
    hs_json_key(json, "frame");
    hs_json_open(json, '[');
    for (uint32_t i = first; i < events->nodes.count; i++) {
        hs_json_uint(json, events->nodes.keys[i].lo);
    }
    hs_json_close(json, ']');
    hs_json_close(json, '}');
}

static void write_stacks(struct hs_watch_events *events, const struct hs_snapshot *snap,
                         const struct ids *stacks, struct hs_json *json)
{
    struct ids nodes = { NULL, 0, 0 };
    uint32_t first = events->nodes.count;
    put_stacks(events, snap, stacks, &nodes);
    write_nodes(events, first, json);
    hs_json_key(json, "stacks");
    hs_json_open(json, '{');
    write_ids(json, "id", stacks->items, stacks->count);
    hs_json_key(json, "heap");
    hs_json_open(json, '[');
    for (size_t i = 0; i < stacks->count; i++) {
        hs_json_uint(json, snap->stacks[stacks->items[i]].heap_id);
    }
    hs_json_close(json, ']');
    write_ids(json, "node", nodes.items, nodes.count);
    hs_json_close(json, '}');
    free(nodes.items);
}

enum column {
    LIVE_BYTES,
    LIVE_COUNT,
    ALLOC_BYTES,
    ALLOC_COUNT,
    COLUMN_N,
};

static double figure_of(const struct hs_snap_stack *stack, enum column column)
{
    const double figures[COLUMN_N] = { stack->live.bytes, stack->live.count, stack->alloc.bytes,
                                       stack->alloc.count };
    return figures[column];
}

static void write_rows(const struct hs_watch_state *state, struct hs_json *json)
{
    static const char *const names[COLUMN_N] = { "live_bytes", "live_count", "alloc_bytes",
                                                 "alloc_count" };
    hs_json_key(json, "rows");
    hs_json_open(json, '{');
    write_ids(json, "stack", state->changed, state->changed_count);
    for (int column = 0; column < COLUMN_N; column++) {
        hs_json_key(json, names[column]);
        hs_json_open(json, '[');
        for (size_t i = 0; i < state->changed_count; i++) {
            hs_json_double(json,
                           figure_of(&state->snap->stacks[state->changed[i]], (enum column)column));
        }
        hs_json_close(json, ']');
    }
    hs_json_close(json, '}');
}

/* --- types and the ledger --------------------------------------------------------------------- */

static void write_types(struct hs_watch_events *events, const struct hs_watch_state *state,
                        const struct ids *frames, struct hs_json *json)
{
    int r =
        hs_event_types_note(&events->types, state, events->stacks, frames->items, frames->count);
    r = r < 0 ? r : hs_event_types_write(&events->types, state, put_string, events, json);
    events->err = events->err ? events->err : r;
}

/* The ledger, if the update has brought one, as an event of its own: what the report has. Where
 * that fails it is left out; the next one may come. */
static void write_ledger(const struct hs_watch_state *state, struct hs_buf *out)
{
    struct hs_profile *profile = NULL;
    struct hs_buf ledger = HS_BUF_INIT;
    int r = state->has_new_ledger ? hs_watch_profile_of_ledger(state, &profile) : -ENODATA;
    r = r == 0 ? hs_report_write_ledger_json(profile, 0, &ledger) : r;
    if (r == 0 && ledger.err == 0) {
        size_t bytes = ledger.bytes;
        while (bytes > 0 && hs_buf_text(&ledger)[bytes - 1] == '\n') {
            bytes--;
        }
        hs_buf_str(out, "event: ledger\ndata: ");
        hs_buf_add(out, hs_buf_text(&ledger), bytes);
        hs_buf_str(out, "\n\n");
    }
    hs_profile_free(profile);
    hs_buf_deinit(&ledger);
}

/* --- figures of the process ------------------------------------------------------------------- */

static void write_process(const struct hs_watch_state *state, struct hs_json *json)
{
    const struct hs_snapshot *snap = state->snap;
    double ms = snap->time_mono_ns > snap->start_mono_ns
                    ? (double)(snap->time_mono_ns - snap->start_mono_ns) / NS_PER_MS
                    : 0;
    hs_json_kv_uint(json, "number", state->number);
    hs_json_kv_double(json, "time_ms", ms);
    hs_json_kv_uint(json, "interval_ms", state->interval_ms);
    hs_json_kv_double(json, "look_cpu_ms", (double)state->look_cpu_ns / NS_PER_MS);
    hs_json_kv_bool(json, "has_more", state->has_more);
    hs_json_key(json, "process");
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "pid", state->host_pid ? state->host_pid : snap->pid);
    hs_json_kv_string(json, "name", snap->comm);
    hs_json_kv_bool(json, "is_from_startup", snap->is_from_startup);
    hs_json_kv_uint(json, "interval_bytes", snap->interval_bytes);
    hs_json_kv_uint(json, "rss_bytes", state->rss_bytes);
    hs_json_kv_uint(json, "rss_anon_bytes", state->rss_anon_bytes);
    hs_json_kv_uint(json, "swap_bytes", state->swap_bytes);
    hs_json_kv_uint(json, "region_bytes", snap->region_bytes);
    hs_json_kv_uint(json, "lost_count", state->lost_count);
    hs_json_kv_double(json, "live_bytes", snap->live.bytes);
    hs_json_kv_double(json, "live_count", snap->live.count);
    hs_json_kv_double(json, "alloc_bytes", snap->alloc.bytes);
    hs_json_kv_double(json, "alloc_count", snap->alloc.count);
    hs_json_close(json, '}');
}

static void write_heaps(const struct hs_snapshot *snap, struct hs_json *json)
{
    hs_json_key(json, "heaps");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < snap->heap_count; i++) {
        hs_json_open(json, '{');
        hs_json_kv_string(json, "name", snap->heaps[i].name);
        hs_json_kv_bool(json, "is_carved", snap->heaps[i].is_carved);
        hs_json_kv_uint(json, "interval_bytes", snap->heaps[i].interval_bytes);
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
}

/* Those that this event refers to and no earlier one has sent. */
static void write_strings(const struct hs_watch_events *events, struct hs_json *json)
{
    const char *at = events->new_strings.data;
    const char *end = at + events->new_strings.bytes;
    hs_json_key(json, "strings");
    hs_json_open(json, '[');
    for (; at && at < end; at += strlen(at) + 1) {
        hs_json_string(json, at);
    }
    hs_json_close(json, ']');
}

/* --- the event -------------------------------------------------------------------------------- */

static int make_room(struct hs_watch_events *events, const struct hs_snapshot *snap)
{
    int r = hs_array_reserve_zeroed(&events->frames, &events->frame_capacity, snap->frame_count + 1,
                                    sizeof(events->frames[0]));
    r = r ? r
          : hs_array_reserve_zeroed(&events->classes, &events->class_capacity,
                                    snap->frame_count + 1, sizeof(events->classes[0]));
    return r ? r
             : hs_array_reserve_zeroed(&events->stacks, &events->stack_capacity,
                                       snap->stack_count + 1, sizeof(events->stacks[0]));
}

static void write_event(struct hs_watch_events *events, const struct hs_watch_state *state,
                        const struct ids *stacks, const struct ids *frames, struct hs_buf *out)
{
    struct hs_json json;
    hs_buf_str(out, "event: update\ndata: ");
    hs_json_init(&json, out, 0);
    hs_json_open(&json, '{');
    write_process(state, &json);
    write_heaps(state->snap, &json);
    write_frames(events, state->snap, frames, &json);
    write_stacks(events, state->snap, stacks, &json);
    write_rows(state, &json);
    write_types(events, state, frames, &json);
    write_strings(events, &json);
    hs_json_close(&json, '}');
    hs_buf_char(out, '\n');
}

int hs_watch_events_write(struct hs_watch_events *events, const struct hs_watch_state *state,
                          const struct hs_watch_names *names, bool has_names, struct hs_buf *out)
{
    struct ids stacks = { NULL, 0, 0 }, frames = { NULL, 0, 0 };
    events->err = make_room(events, state->snap);
    hs_buf_clear(&events->new_strings);
    for (size_t i = 0; events->err == 0 && i < state->changed_count; i++) {
        uint32_t id = state->changed[i];
        if (!events->stacks[id]) {
            events->stacks[id] = true;
            add_id(events, &stacks, id);
        }
    }
    if (events->err == 0) {
        collect_frames(events, state, names, has_names, &stacks, &frames);
        write_event(events, state, &stacks, &frames, out);
        write_ledger(state, out);
    }
    free(stacks.items);
    free(frames.items);
    int err = events->err ? events->err : events->new_strings.err;
    return err ? err : out->err;
}

void hs_watch_events_deinit(struct hs_watch_events *events)
{
    hs_intern_deinit(&events->strings);
    hs_intern_deinit(&events->nodes);
    hs_event_types_deinit(&events->types);
    hs_buf_deinit(&events->new_strings);
    free(events->frames);
    free(events->classes);
    free(events->stacks);
    *events = (struct hs_watch_events){ .err = 0 };
}
