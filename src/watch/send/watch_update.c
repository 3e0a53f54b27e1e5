/*
 * Makes updates: see watch_update.h.
 */
#include "watch/send/watch_update.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/atomic.h"
#include "rt/check.h"
#include "util/array.h"

struct hs_update_columns {
    Hs__Ctl__WatchedHeap *heaps;
    Hs__Ctl__WatchedHeap **heap_pointers;
    Hs__Ctl__WatchedModule *modules;
    Hs__Ctl__WatchedModule **module_pointers;
    Hs__Ctl__WatchedCodeName *names;
    Hs__Ctl__WatchedCodeName **name_pointers;
    uint64_t *rel_pc;
    uint32_t *module_id, *flags;
    uint32_t *stack_id, *heap_id, *end, *frame_count, *frame_id;
    uint32_t *row_id;
    double *figures; /* the eight columns of the rows, one behind the other */
};

void hs_watch_update_deinit(struct hs_watch_update *update)
{
    struct hs_update_columns *c = update->columns;
    if (c) {
        free(c->heaps);
        free(c->heap_pointers);
        free(c->modules);
        free(c->module_pointers);
        free(c->names);
        free(c->name_pointers);
        free(c->rel_pc);
        free(c->module_id);
        free(c->flags);
        free(c->stack_id);
        free(c->heap_id);
        free(c->end);
        free(c->frame_count);
        free(c->frame_id);
        free(c->row_id);
        free(c->figures);
        free(c);
    }
    update->columns = NULL;
    hs_update_parts_deinit(&update->parts);
}

void hs_watch_sent_deinit(struct hs_watch_sent *sent)
{
    free(sent->rows);
    hs_parts_sent_deinit(&sent->parts);
    *sent = (struct hs_watch_sent){ 0 };
}

/* A new array of at least one element; *is_short is set where there is no memory. */
static void *new_array(size_t count, size_t elem_bytes, bool *is_short)
{
    void *array = calloc(count + 1, elem_bytes);
    *is_short |= array == NULL;
    return array;
}

/* How many of the elements from `first` on come now. */
static uint32_t next_count(uint32_t count, uint32_t first, uint32_t max)
{
    uint32_t left = count > first ? count - first : 0;
    return left < max ? left : max;
}

/* --- what rows refer to ----------------------------------------------------------------------- */

static bool fill_heaps(const struct hs_snapshot *tables, struct hs_watch_update *update)
{
    struct hs_update_columns *c = update->columns;
    bool is_short = false;
    c->heaps = new_array(tables->heap_count, sizeof(*c->heaps), &is_short);
    c->heap_pointers = new_array(tables->heap_count, sizeof(*c->heap_pointers), &is_short);
    for (uint32_t i = 0; i < tables->heap_count && !is_short; i++) {
        Hs__Ctl__WatchedHeap *to = c->heap_pointers[i] = &c->heaps[i];
        struct hs_snap_heap *from = &tables->heaps[i];
        hs__ctl__watched_heap__init(to);
        to->has_id = to->has_is_carved = to->has_parent = to->has_has_own_samples =
            to->has_interval_bytes = true;
        to->id = i;
        to->name = from->name;
        to->is_carved = from->is_carved;
        to->parent = from->parent;
        to->has_own_samples = from->has_own_samples;
        to->interval_bytes = from->interval_bytes;
        update->message.n_heaps++;
    }
    update->message.heaps = c->heap_pointers;
    return !is_short;
}

static void describe_module(struct hs_snap_module *from, Hs__Ctl__WatchedModule *to)
{
    hs__ctl__watched_module__init(to);
    to->path = from->path;
    to->has_build_id = from->build_id_bytes > 0;
    to->build_id = (ProtobufCBinaryData){ from->build_id_bytes, from->build_id };
    to->has_kind = to->has_start_va = to->has_end_va = to->has_bias_va = to->has_exec_off =
        to->has_exec_sva = to->has_exec_bytes = true;
    to->kind = from->kind;
    to->start_va = from->start_va;
    to->end_va = from->end_va;
    to->bias_va = from->bias_va;
    to->exec_off = from->exec_off;
    to->exec_sva = from->exec_sva;
    to->exec_bytes = from->exec_bytes;
}

static bool fill_modules(const struct hs_watch_sent *sent, const struct hs_snapshot *tables,
                         struct hs_watch_update *update)
{
    struct hs_update_columns *c = update->columns;
    bool is_short = false;
    uint32_t count = next_count(tables->module_count, sent->module_count, HS_UPDATE_MODULES_MAX);
    c->modules = new_array(count, sizeof(*c->modules), &is_short);
    c->module_pointers = new_array(count, sizeof(*c->module_pointers), &is_short);
    for (uint32_t i = 0; i < count && !is_short; i++) {
        c->module_pointers[i] = &c->modules[i];
        describe_module(&tables->modules[sent->module_count + i], &c->modules[i]);
        update->message.n_modules++;
    }
    update->message.modules = c->module_pointers;
    return !is_short;
}

static bool fill_names(const struct hs_watch_sent *sent, const struct hs_snapshot *tables,
                       struct hs_watch_update *update)
{
    struct hs_update_columns *c = update->columns;
    bool is_short = false;
    uint32_t count =
        next_count(tables->code_name_count, sent->code_name_count, HS_UPDATE_NAMES_MAX);
    c->names = new_array(count, sizeof(*c->names), &is_short);
    c->name_pointers = new_array(count, sizeof(*c->name_pointers), &is_short);
    for (uint32_t i = 0; i < count && !is_short; i++) {
        const struct hs_snap_code_name *from = &tables->code_names[sent->code_name_count + i];
        Hs__Ctl__WatchedCodeName *to = c->name_pointers[i] = &c->names[i];
        hs__ctl__watched_code_name__init(to);
        to->function = (char *)(uintptr_t)from->function;
        to->file = (char *)(uintptr_t)from->file;
        to->has_line = to->has_first_line = to->has_language = true;
        to->line = from->line;
        to->first_line = from->first_line;
        to->language = from->language;
        update->message.n_code_names++;
    }
    update->message.code_names = c->name_pointers;
    return !is_short;
}

static bool fill_frames(const struct hs_watch_sent *sent, const struct hs_snapshot *tables,
                        struct hs_watch_update *update)
{
    struct hs_update_columns *c = update->columns;
    Hs__Ctl__WatchedFrames *frames = &update->frames;
    bool is_short = false;
    uint32_t count = next_count(tables->frame_count, sent->frame_count, HS_UPDATE_FRAMES_MAX);
    c->rel_pc = new_array(count, sizeof(*c->rel_pc), &is_short);
    c->module_id = new_array(count, sizeof(*c->module_id), &is_short);
    c->flags = new_array(count, sizeof(*c->flags), &is_short);
    for (uint32_t i = 0; i < count && !is_short; i++) {
        const struct hs_snap_frame *from = &tables->frames[sent->frame_count + i];
        c->rel_pc[i] = from->rel_pc;
        c->module_id[i] = from->module_id;
        c->flags[i] = from->flags;
    }
    hs__ctl__watched_frames__init(frames);
    frames->n_rel_pc = frames->n_module_id = frames->n_flags = is_short ? 0 : count;
    frames->rel_pc = c->rel_pc;
    frames->module_id = c->module_id;
    frames->flags = c->flags;
    update->message.frames = count > 0 ? frames : NULL;
    return !is_short;
}

/* --- rows ------------------------------------------------------------------------------------- */

static bool is_equal(const struct hs_estimate *a, const struct hs_estimate *b)
{
    return a->bytes == b->bytes && a->count == b->count && a->bytes_var == b->bytes_var &&
           a->count_var == b->count_var;
}

static bool has_changed(const struct hs_watch_sent_row *sent, const struct hs_live_total *now)
{
    return !is_equal(&sent->live, &now->live) || !is_equal(&sent->alloc, &now->alloc);
}

/* Chooses the stacks of the rows that come now, and counts those that are new to the viewer and
 * their frames. The caller sets `resume` to what is returned. */
static uint32_t choose_rows(const struct hs_watch_sent *sent, const struct hs_watch_look *look,
                            struct hs_watch_update *update, size_t *ret_new, size_t *ret_frames)
{
    const struct hs_live_totals *totals = &look->totals;
    uint32_t *ids = update->columns->row_id;
    uint32_t rows_max = sent->rows_max ? sent->rows_max : HS_UPDATE_ROWS_MAX;
    uint32_t i = sent->resume;
    for (; i < totals->stack_count && update->row_count < rows_max; i++) {
        const struct hs_watch_sent_row *row = &sent->rows[i];
        if (!hs_watch_look_knows(look, i) || !has_changed(row, &totals->of_stack[i])) {
            continue;
        }
        uint32_t frames = row->is_known ? 0 : look->tables->stacks[i].frame_count;
        if (*ret_frames + frames > HS_UPDATE_FRAME_IDS_MAX) {
            break;
        }
        ids[update->row_count++] = i;
        *ret_new += !row->is_known;
        *ret_frames += frames;
    }
    return i;
}

static void fill_stacks(const struct hs_watch_sent *sent, const struct hs_snapshot *tables,
                        struct hs_watch_update *update)
{
    const struct hs_update_columns *c = update->columns;
    Hs__Ctl__WatchedStacks *stacks = &update->stacks;
    size_t count = 0, frame_count = 0;
    for (size_t i = 0; i < update->row_count; i++) {
        uint32_t id = c->row_id[i];
        const struct hs_snap_stack *from = &tables->stacks[id];
        if (sent->rows[id].is_known) {
            continue;
        }
        c->stack_id[count] = id;
        c->heap_id[count] = from->heap_id;
        c->end[count] = from->end;
        c->frame_count[count++] = from->frame_count;
        memcpy(c->frame_id + frame_count, from->frame_ids,
               from->frame_count * sizeof(c->frame_id[0]));
        frame_count += from->frame_count;
    }
    hs__ctl__watched_stacks__init(stacks);
    stacks->n_id = stacks->n_heap_id = stacks->n_end = stacks->n_frame_count = count;
    stacks->n_frame_id = frame_count;
    stacks->id = c->stack_id;
    stacks->heap_id = c->heap_id;
    stacks->end = c->end;
    stacks->frame_count = c->frame_count;
    stacks->frame_id = c->frame_id;
    update->message.stacks = count > 0 ? stacks : NULL;
}

static void fill_figures(const struct hs_live_totals *totals, struct hs_watch_update *update)
{
    const struct hs_update_columns *c = update->columns;
    Hs__Ctl__WatchedRows *rows = &update->rows;
    size_t count = update->row_count;
    hs__ctl__watched_rows__init(rows);
    rows->n_stack_id = rows->n_live_bytes = rows->n_live_count = rows->n_live_bytes_var =
        rows->n_live_count_var = rows->n_alloc_bytes = rows->n_alloc_count =
            rows->n_alloc_bytes_var = rows->n_alloc_count_var = count;
    rows->stack_id = c->row_id;
    double **const columns[] = {
        &rows->live_bytes,  &rows->live_count,  &rows->live_bytes_var,  &rows->live_count_var,
        &rows->alloc_bytes, &rows->alloc_count, &rows->alloc_bytes_var, &rows->alloc_count_var,
    };
    for (size_t k = 0; k < HS_COUNT_OF(columns); k++) {
        *columns[k] = c->figures + k * count;
    }
    for (size_t i = 0; i < count; i++) {
        const struct hs_live_total *from = &totals->of_stack[c->row_id[i]];
        rows->live_bytes[i] = from->live.bytes;
        rows->live_count[i] = from->live.count;
        rows->live_bytes_var[i] = from->live.bytes_var;
        rows->live_count_var[i] = from->live.count_var;
        rows->alloc_bytes[i] = from->alloc.bytes;
        rows->alloc_count[i] = from->alloc.count;
        rows->alloc_bytes_var[i] = from->alloc.bytes_var;
        rows->alloc_count_var[i] = from->alloc.count_var;
    }
    update->message.rows = count > 0 ? rows : NULL;
}

static bool fill_rows(struct hs_watch_sent *sent, const struct hs_watch_look *look,
                      struct hs_watch_update *update)
{
    struct hs_update_columns *c = update->columns;
    size_t new_count = 0, frame_count = 0;
    bool is_short = false;
    c->row_id = new_array(HS_UPDATE_ROWS_MAX, sizeof(*c->row_id), &is_short);
    if (is_short) {
        return false;
    }
    uint32_t resume = choose_rows(sent, look, update, &new_count, &frame_count);
    c->stack_id = new_array(new_count, sizeof(*c->stack_id), &is_short);
    c->heap_id = new_array(new_count, sizeof(*c->heap_id), &is_short);
    c->end = new_array(new_count, sizeof(*c->end), &is_short);
    c->frame_count = new_array(new_count, sizeof(*c->frame_count), &is_short);
    c->frame_id = new_array(frame_count, sizeof(*c->frame_id), &is_short);
    c->figures = new_array(8 * update->row_count, sizeof(*c->figures), &is_short);
    if (is_short) {
        return false;
    }
    fill_stacks(sent, look->tables, update);
    fill_figures(&look->totals, update);
    sent->resume = resume;
    return true;
}

/* --- the whole -------------------------------------------------------------------------------- */

static void fill_process(const struct hs_region *region, const struct hs_watch_look *look,
                         Hs__Ctl__WatchedProcess *process)
{
    const struct hs_live_totals *totals = &look->totals;
    hs__ctl__watched_process__init(process);
    process->comm = look->tables->comm;
    process->exe = look->tables->exe;
    process->has_pid = process->has_start_mono_ns = process->has_interval_bytes =
        process->has_is_from_startup = process->has_region_bytes = process->has_sample_count =
            process->has_free_count = process->has_lost_count = true;
    process->pid = region->header.pid;
    process->start_mono_ns = region->header.start_mono_ns;
    process->interval_bytes = hs_load_relaxed(&region->control->interval_bytes);
    process->is_from_startup = region->header.is_from_startup != 0;
    process->region_bytes = hs_region_resident_bytes(region);
    process->sample_count = look->progress.sample_count;
    process->free_count = look->progress.free_count;
    process->lost_count = look->progress.lost_count;
    process->has_live_bytes = process->has_live_count = process->has_alloc_bytes =
        process->has_alloc_count = true;
    process->live_bytes = totals->live.bytes;
    process->live_count = totals->live.count;
    process->alloc_bytes = totals->alloc.bytes;
    process->alloc_count = totals->alloc.count;
}

/* Parts wait until all rows are sent, whose stacks they are of. */
static bool fill_parts(struct hs_watch_sent *sent, const struct hs_snapshot *tables,
                       struct hs_watch_update *update, bool *ret_has_rest)
{
    uint32_t rows_max = sent->rows_max ? sent->rows_max : HS_UPDATE_ROWS_MAX;
    return hs_update_parts_fill(&sent->parts, tables, rows_max, &update->parts, &update->message,
                                ret_has_rest) == 0;
}

/* Rows wait until all frames are sent, which they may refer to. */
static bool fill_all(struct hs_watch_sent *sent, const struct hs_watch_look *look,
                     struct hs_watch_update *update)
{
    const struct hs_snapshot *tables = look->tables;
    if (!fill_heaps(tables, update) || !fill_modules(sent, tables, update) ||
        !fill_names(sent, tables, update)) {
        return false;
    }
    bool has_rest = sent->module_count + update->message.n_modules < tables->module_count ||
                    sent->code_name_count + update->message.n_code_names < tables->code_name_count;
    if (!has_rest) {
        if (!fill_frames(sent, tables, update)) {
            return false;
        }
        has_rest = sent->frame_count + update->frames.n_rel_pc < tables->frame_count;
    }
    if (!has_rest) {
        if (!fill_rows(sent, look, update)) {
            return false;
        }
        has_rest = sent->resume < look->totals.stack_count;
    }
    if (!has_rest && !fill_parts(sent, tables, update, &has_rest)) {
        return false;
    }
    update->message.has_has_more = true;
    update->message.has_more = has_rest;
    return true;
}

static void note_sent(struct hs_watch_sent *sent, const struct hs_watch_look *look,
                      const struct hs_watch_update *update)
{
    sent->number++;
    sent->module_count += (uint32_t)update->message.n_modules;
    sent->code_name_count += (uint32_t)update->message.n_code_names;
    sent->frame_count += update->message.frames ? (uint32_t)update->frames.n_rel_pc : 0;
    for (size_t i = 0; i < update->row_count; i++) {
        uint32_t id = update->columns->row_id[i];
        const struct hs_live_total *now = &look->totals.of_stack[id];
        sent->rows[id] = (struct hs_watch_sent_row){ now->live, now->alloc, true };
    }
    if (!update->message.has_more) {
        sent->resume = 0;
        hs_parts_sent_end_look(&sent->parts);
    }
}

int hs_watch_update_fill(struct hs_watch_sent *sent, const struct hs_region *region,
                         const struct hs_watch_look *look, struct hs_watch_update *ret_update)
{
    struct hs_watch_update *update = ret_update;
    *update = (struct hs_watch_update){ .columns = calloc(1, sizeof(*update->columns)) };
    hs__ctl__update__init(&update->message);
    int r = update->columns
                ? hs_array_reserve_zeroed(&sent->rows, &sent->row_capacity,
                                          look->totals.stack_count + 1, sizeof(sent->rows[0]))
                : -ENOMEM;
    if (r == 0 && !fill_all(sent, look, update)) {
        r = -ENOMEM;
    }
    if (r < 0) {
        hs_watch_update_deinit(update);
        return r;
    }
    fill_process(region, look, &update->process);
    update->message.process = &update->process;
    note_sent(sent, look, update);
    update->message.has_number = update->message.has_mono_ns = true;
    update->message.number = sent->number;
    update->message.mono_ns = look->time_ns;
    return 0;
}
