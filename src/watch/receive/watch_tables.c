/*
 * Extends the tables of a state: see watch_tables.h.
 */
#include "watch/receive/watch_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/check.h"
#include "util/array.h"

/* --- heaps ------------------------------------------------------------------------------------ */

/* Heaps come with each update, all of them: there may be more than before. */
static int take_heaps(struct hs_snapshot *snap, Hs__Ctl__WatchedHeap **heaps, size_t count)
{
    if (count > HS_REGION_HEAPS) {
        return -EPROTO;
    }
    if (count > snap->heap_count) {
        struct hs_snap_heap *more = calloc(count, sizeof(*more));
        if (!more) {
            return -ENOMEM;
        }
        if (snap->heaps) {
            memcpy(more, snap->heaps, snap->heap_count * sizeof(*more));
        }
        free(snap->heaps);
        snap->heaps = more;
        snap->heap_count = (uint32_t)count;
    }
    for (size_t i = 0; i < count; i++) {
        const Hs__Ctl__WatchedHeap *from = heaps[i];
        if (from->id != i || from->parent > HS_REGION_HEAPS) {
            return -EPROTO;
        }
        struct hs_snap_heap *to = &snap->heaps[i];
        const char *name = from->name ? from->name : "";
        memset(to->name, 0, sizeof(to->name));
        memcpy(to->name, name, strnlen(name, sizeof(to->name) - 1));
        to->is_carved = from->is_carved && i > 0;
        to->has_own_samples = from->has_own_samples;
        to->parent = from->parent;
        to->interval_bytes = from->interval_bytes;
    }
    return 0;
}

/* --- modules ---------------------------------------------------------------------------------- */

static int take_module(struct hs_watch_state *state, const Hs__Ctl__WatchedModule *from)
{
    struct hs_snapshot *snap = state->snap;
    if (snap->module_count >= HS_WATCH_MODULES_MAX) {
        return -EFBIG;
    }
    if (from->kind > HS_MODULE_MARKER || from->build_id.len > HS_BUILD_ID_BYTES) {
        return -EPROTO;
    }
    int r = hs_array_reserve(&snap->modules, &state->module_capacity, snap->module_count + 1,
                             sizeof(snap->modules[0]));
    char *path = r == 0 ? strdup(from->path ? from->path : "") : NULL;
    if (!path) {
        return -ENOMEM;
    }
    struct hs_snap_module *to = &snap->modules[snap->module_count++];
    *to = (struct hs_snap_module){ .path = path,
                                   .build_id_bytes = (uint8_t)from->build_id.len,
                                   .kind = (uint8_t)from->kind,
                                   .start_va = from->start_va,
                                   .end_va = from->end_va,
                                   .bias_va = from->bias_va,
                                   .exec_off = from->exec_off,
                                   .exec_sva = from->exec_sva,
                                   .exec_bytes = from->exec_bytes };
    if (from->build_id.len > 0) {
        memcpy(to->build_id, from->build_id.data, from->build_id.len);
    }
    return 0;
}

/* --- names of code ---------------------------------------------------------------------------- */

/* Keeps a copy of a text for as long as the state. */
static int keep_text(struct hs_watch_state *state, const char *text, const char **ret_copy)
{
    int r = hs_array_reserve(&state->texts, &state->text_capacity, state->text_count + 1,
                             sizeof(state->texts[0]));
    char *copy = r == 0 ? strdup(text ? text : "") : NULL;
    if (!copy) {
        return -ENOMEM;
    }
    state->texts[state->text_count++] = copy;
    *ret_copy = copy;
    return 0;
}

static int take_code_name(struct hs_watch_state *state, const Hs__Ctl__WatchedCodeName *from)
{
    struct hs_snapshot *snap = state->snap;
    struct hs_snap_code_name name = { .line = from->line, .first_line = from->first_line };
    if (snap->code_name_count >= HS_CODE_NAMES_MAX) {
        return -EFBIG;
    }
    name.language = from->language < HS_LANGUAGE_N ? from->language : HS_LANGUAGE_OTHER;
    int r = hs_array_reserve(&snap->code_names, &state->code_name_capacity,
                             snap->code_name_count + 1, sizeof(snap->code_names[0]));
    r = r < 0 ? r : keep_text(state, from->function, &name.function);
    r = r < 0 ? r : keep_text(state, from->file, &name.file);
    if (r == 0) {
        snap->code_names[snap->code_name_count++] = name;
    }
    return r;
}

/* --- frames ----------------------------------------------------------------------------------- */

static bool is_frame_good(const struct hs_snapshot *snap, uint64_t rel_pc, uint32_t module_id,
                          uint32_t flags)
{
    bool is_named = (flags & HS_FRAME_NAMED) != 0;
    return module_id < snap->module_count && (!is_named || rel_pc < snap->code_name_count) &&
           !(is_named && (flags & HS_FRAME_MARKER));
}

/* As hs_capture_tables() makes it of the region's. */
static struct hs_snap_frame make_frame(const struct hs_snapshot *snap, uint64_t rel_pc,
                                       uint32_t module_id, uint32_t flags)
{
    struct hs_snap_frame frame = {
        .rel_pc = rel_pc, .pc = rel_pc, .module_id = module_id, .flags = flags
    };
    if (!(flags & (HS_FRAME_MARKER | HS_FRAME_NAMED))) {
        frame.pc += snap->modules[module_id].bias_va + !(flags & HS_FRAME_EXACT);
    }
    return frame;
}

static int take_frames(struct hs_watch_state *state, const Hs__Ctl__WatchedFrames *frames)
{
    struct hs_snapshot *snap = state->snap;
    size_t count = frames ? frames->n_rel_pc : 0;
    if (count == 0) {
        return 0;
    }
    if (frames->n_module_id != count || frames->n_flags != count) {
        return -EPROTO;
    }
    if (count > HS_WATCH_FRAMES_MAX - snap->frame_count) {
        return -EFBIG;
    }
    int r = hs_array_reserve(&snap->frames, &state->frame_capacity, snap->frame_count + count,
                             sizeof(snap->frames[0]));
    for (size_t i = 0; r == 0 && i < count; i++) {
        if (!is_frame_good(snap, frames->rel_pc[i], frames->module_id[i], frames->flags[i])) {
            return -EPROTO;
        }
        snap->frames[snap->frame_count++] =
            make_frame(snap, frames->rel_pc[i], frames->module_id[i], frames->flags[i]);
    }
    return r;
}

/* --- stacks ----------------------------------------------------------------------------------- */

static bool are_stacks_whole(const Hs__Ctl__WatchedStacks *stacks)
{
    size_t count = stacks->n_id;
    uint64_t frame_count = 0;
    if (stacks->n_heap_id != count || stacks->n_end != count || stacks->n_frame_count != count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (stacks->frame_count[i] == 0 || stacks->frame_count[i] > UINT16_MAX) {
            return false;
        }
        frame_count += stacks->frame_count[i];
    }
    return frame_count == stacks->n_frame_id;
}

/* Makes room, so that there is a stack of each id below `count`; new ones have no frames. */
static int reserve_stacks(struct hs_watch_state *state, uint32_t count)
{
    struct hs_snapshot *snap = state->snap;
    if (count > HS_WATCH_STACKS_MAX) {
        return -EFBIG;
    }
    int r = hs_array_reserve_zeroed(&snap->stacks, &state->stack_capacity, count,
                                    sizeof(snap->stacks[0]));
    r = r < 0 ? r
              : hs_array_reserve_zeroed(&state->frame_id_first, &state->place_capacity, count,
                                        sizeof(state->frame_id_first[0]));
    if (r == 0 && count > snap->stack_count) {
        snap->stack_count = count;
    }
    return r;
}

/* The array of frame ids has moved, or there are new stacks. */
static void place_frames(struct hs_watch_state *state)
{
    struct hs_snapshot *snap = state->snap;
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        snap->stacks[i].frame_ids = snap->frame_ids + state->frame_id_first[i];
    }
}

/* Adds the frame ids of all stacks of an update. */
static int take_frame_ids(struct hs_watch_state *state, const Hs__Ctl__WatchedStacks *stacks)
{
    struct hs_snapshot *snap = state->snap;
    for (size_t i = 0; i < stacks->n_frame_id; i++) {
        if (stacks->frame_id[i] >= snap->frame_count) {
            return -EPROTO;
        }
    }
    if (stacks->n_frame_id > HS_WATCH_FRAME_IDS_MAX - snap->frame_id_count) {
        return -EFBIG;
    }
    int r = hs_array_reserve(&snap->frame_ids, &state->frame_id_capacity,
                             snap->frame_id_count + stacks->n_frame_id, sizeof(uint32_t));
    if (r == 0) {
        memcpy(snap->frame_ids + snap->frame_id_count, stacks->frame_id,
               stacks->n_frame_id * sizeof(uint32_t));
    }
    return r;
}

static int take_stack(struct hs_watch_state *state, const Hs__Ctl__WatchedStacks *stacks, size_t i)
{
    struct hs_snapshot *snap = state->snap;
    uint32_t id = stacks->id[i];
    int r = id < HS_WATCH_STACKS_MAX ? reserve_stacks(state, id + 1) : -EFBIG;
    if (r < 0) {
        return r;
    }
    if (snap->stacks[id].frame_count > 0 || stacks->heap_id[i] >= snap->heap_count ||
        stacks->end[i] >= HS_STACK_END_N) {
        return -EPROTO;
    }
    snap->stacks[id].frame_count = (uint16_t)stacks->frame_count[i];
    snap->stacks[id].heap_id = (uint8_t)stacks->heap_id[i];
    snap->stacks[id].end = (uint8_t)stacks->end[i];
    state->frame_id_first[id] = snap->frame_id_count;
    snap->frame_id_count += stacks->frame_count[i];
    return 0;
}

static int take_stacks(struct hs_watch_state *state, const Hs__Ctl__WatchedStacks *stacks)
{
    if (!stacks || stacks->n_id == 0) {
        return 0;
    }
    int r = are_stacks_whole(stacks) ? take_frame_ids(state, stacks) : -EPROTO;
    for (size_t i = 0; r == 0 && i < stacks->n_id; i++) {
        r = take_stack(state, stacks, i);
    }
    place_frames(state);
    return r;
}

/* --- all -------------------------------------------------------------------------------------- */

int hs_watch_tables_take(struct hs_watch_state *state, const Hs__Ctl__Update *update)
{
    int r = take_heaps(state->snap, update->heaps, update->n_heaps);
    for (size_t i = 0; r == 0 && i < update->n_modules; i++) {
        r = take_module(state, update->modules[i]);
    }
    for (size_t i = 0; r == 0 && i < update->n_code_names; i++) {
        r = take_code_name(state, update->code_names[i]);
    }
    r = r < 0 ? r : take_frames(state, update->frames);
    r = r < 0 ? r : take_stacks(state, update->stacks);
    HS_ASSERT(r < 0 || state->snap->frame_id_count <= state->frame_id_capacity);
    return r;
}
