/*
 * Puts updates together: see watch_state.h. What they define is in watch_tables.c.
 */
#include "watch/receive/watch_state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/check.h"
#include "util/array.h"
#include "watch/receive/watch_tables.h"
#include "watch/receive/watched_ledger.h"
#include "watch/receive/watched_types.h"

#define FIGURE_MAX 1e18

int hs_watch_state_init(struct hs_watch_state *ret_state)
{
    *ret_state = (struct hs_watch_state){ .snap = calloc(1, sizeof(*ret_state->snap)) };
    return ret_state->snap ? 0 : -ENOMEM;
}

void hs_watch_state_deinit(struct hs_watch_state *state)
{
    for (size_t i = 0; i < state->text_count; i++) {
        free(state->texts[i]);
    }
    free(state->texts);
    free(state->frame_id_first);
    free(state->changed);
    free(state->parts);
    free(state->changed_parts);
    hs_snapshot_free(state->snap);
    *state = (struct hs_watch_state){ 0 };
}

/* --- figures ---------------------------------------------------------------------------------- */

static double figure(double value)
{
    return value >= 0 && value <= FIGURE_MAX ? value : 0;
}

static struct hs_estimate estimate(double bytes, double count, double bytes_var, double count_var)
{
    return (struct hs_estimate){
        figure(bytes), figure(count),
        bytes_var >= 0 && bytes_var <= FIGURE_MAX * FIGURE_MAX ? bytes_var : 0,
        count_var >= 0 && count_var <= FIGURE_MAX * FIGURE_MAX ? count_var : 0
    };
}

static bool are_rows_whole(const Hs__Ctl__WatchedRows *rows)
{
    size_t count = rows->n_stack_id;
    return rows->n_live_bytes == count && rows->n_live_count == count &&
           rows->n_live_bytes_var == count && rows->n_live_count_var == count &&
           rows->n_alloc_bytes == count && rows->n_alloc_count == count &&
           rows->n_alloc_bytes_var == count && rows->n_alloc_count_var == count;
}

static void set_row(struct hs_snap_stack *stack, const Hs__Ctl__WatchedRows *rows, size_t i)
{
    stack->live = estimate(rows->live_bytes[i], rows->live_count[i], rows->live_bytes_var[i],
                           rows->live_count_var[i]);
    stack->alloc = estimate(rows->alloc_bytes[i], rows->alloc_count[i], rows->alloc_bytes_var[i],
                            rows->alloc_count_var[i]);
    stack->alloc.bytes = fmax(stack->alloc.bytes, stack->live.bytes);
    stack->alloc.count = fmax(stack->alloc.count, stack->live.count);
}

static int take_rows(struct hs_watch_state *state, const Hs__Ctl__WatchedRows *rows)
{
    struct hs_snapshot *snap = state->snap;
    state->changed_count = 0;
    if (!rows) {
        return 0;
    }
    if (!are_rows_whole(rows)) {
        return -EPROTO;
    }
    int r = hs_array_reserve(&state->changed, &state->changed_capacity, rows->n_stack_id + 1,
                             sizeof(state->changed[0]));
    if (r < 0) {
        return r;
    }
    for (size_t i = 0; i < rows->n_stack_id; i++) {
        uint32_t id = rows->stack_id[i];
        if (id >= snap->stack_count || snap->stacks[id].frame_count == 0) {
            return -EPROTO;
        }
        set_row(&snap->stacks[id], rows, i);
        state->changed[state->changed_count++] = id;
    }
    return 0;
}

/* Adds up the figures of each heap, once all rows of a look are there. */
static void add_up_heaps(struct hs_snapshot *snap)
{
    for (uint32_t i = 0; i < snap->heap_count; i++) {
        snap->heaps[i].live = snap->heaps[i].alloc = (struct hs_estimate){ 0 };
    }
    snap->live = snap->alloc = (struct hs_estimate){ 0 };
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        const struct hs_snap_stack *stack = &snap->stacks[i];
        struct hs_snap_heap *heap = stack->frame_count > 0 ? &snap->heaps[stack->heap_id] : NULL;
        if (heap) {
            hs_estimate_add(&heap->live, &stack->live);
            hs_estimate_add(&heap->alloc, &stack->alloc);
        }
        if (heap && !heap->is_carved) {
            hs_estimate_add(&snap->live, &stack->live);
            hs_estimate_add(&snap->alloc, &stack->alloc);
        }
    }
}

/* --- the process ------------------------------------------------------------------------------ */

static int set_text(char **text, const char *value)
{
    if (!value || (*text && strcmp(*text, value) == 0)) {
        return 0;
    }
    char *copy = strdup(value);
    if (!copy) {
        return -ENOMEM;
    }
    free(*text);
    *text = copy;
    return 0;
}

static int take_process(struct hs_watch_state *state, const Hs__Ctl__WatchedProcess *process)
{
    struct hs_snapshot *snap = state->snap;
    if (!process) {
        return 0;
    }
    if (process->comm) {
        memset(snap->comm, 0, sizeof(snap->comm));
        memcpy(snap->comm, process->comm, strnlen(process->comm, sizeof(snap->comm) - 1));
    }
    state->host_pid = process->host_pid;
    state->rss_bytes = process->rss_bytes;
    state->rss_anon_bytes = process->rss_anon_bytes;
    state->swap_bytes = process->swap_bytes;
    state->lost_count = process->lost_count;
    snap->pid = process->host_pid ? process->host_pid : process->pid;
    snap->start_mono_ns = process->start_mono_ns;
    snap->interval_bytes = snap->orig_interval_bytes = process->interval_bytes;
    snap->is_from_startup = process->is_from_startup;
    snap->rss_bytes = process->rss_bytes;
    snap->region_bytes = process->region_bytes;
    snap->sample_count = process->sample_count;
    snap->free_count = process->free_count;
    return set_text(&snap->exe, process->exe);
}

/* --- an update -------------------------------------------------------------------------------- */

int hs_watch_state_apply(struct hs_watch_state *state, const Hs__Ctl__Update *update)
{
    struct hs_snapshot *snap = state->snap;
    if (state->end != HS_WATCH_GOES_ON || update->end >= HS_WATCH_END_N) {
        return -EPROTO;
    }
    int r = take_process(state, update->process);
    r = r < 0 ? r : hs_watch_tables_take(state, update);
    r = r < 0 ? r : take_rows(state, update->rows);
    r = r < 0 ? r : hs_watched_types_take(state, update);
    r = r < 0 ? r : hs_watched_ledger_take(state, update);
    HS_ASSERT_SLOW(hs_snapshot_is_valid(snap));
    if (r < 0) {
        return r;
    }
    if (update->has_number) {
        state->number = update->number;
        snap->time_mono_ns = update->mono_ns;
    }
    state->interval_ms = update->has_interval_ms ? update->interval_ms : state->interval_ms;
    state->look_cpu_ns = update->has_look_cpu_ns ? update->look_cpu_ns : state->look_cpu_ns;
    state->has_more = update->has_more;
    state->end = update->end;
    if (!state->has_more) {
        add_up_heaps(snap);
    }
    return 0;
}
