/*
 * See own_tables.h.
 */
#include "sql/store/own_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/dump_heaps.h"
#include "profile/model/frame_types.h"
#include "profile/model/nameless_reason.h"
#include "sql/store/own_figures.h"
#include "sql/store/own_ledgers.h"
#include "trace/snapshot.h"
#include "util/saturate.h"

static int64_t text_of(struct hs_sql_store *store, const struct hs_profile *p, uint32_t id)
{
    return id == 0 ? HS_ROWS_NULL : hs_sql_store_str(store, hs_profile_string(p, id));
}

/* In the profile, 0 means "unknown"; the table has NULL. */
static int64_t null_if_0(uint64_t value)
{
    return value == 0 ? HS_ROWS_NULL : (int64_t)value;
}

/* How many samples some of the heaps have is not known. */
static int64_t sample_count_of(const struct hs_profile_dump *d)
{
    return d->sample_count == 0 && d->alloc.bytes > 0 ? HS_ROWS_NULL : (int64_t)d->sample_count;
}

static void add_dumps(struct hs_sql_store *store, const struct hs_profile *p)
{
    for (uint32_t i = 0; i < p->dump_count && store->err == 0; i++) {
        const struct hs_profile_dump *d = &p->dumps[i];
        struct hs_own_figures live = hs_own_figures_of(&d->live, d->interval_bytes, true),
                              alloc = hs_own_figures_of(&d->alloc, d->interval_bytes, true),
                              peak = hs_own_figures_of(&d->peak, d->interval_bytes, d->has_peak);
        HS_SQL_ADD(store, HS_SQL_OWN_DUMPS, d->process, d->index, d->is_final, (int64_t)d->start_ns,
                   (int64_t)d->time_ns, null_if_0(d->peak_time_ns), (int64_t)d->interval_bytes,
                   (int64_t)d->orig_interval_bytes, null_if_0(d->rss_bytes),
                   null_if_0(d->rss_peak_bytes), null_if_0(d->rss_start_bytes), d->has_peak,
                   d->has_scaled_counts, HS_OWN_FIGURE_CELLS(live), HS_OWN_FIGURE_CELLS(alloc),
                   HS_OWN_FIGURE_CELLS(peak), sample_count_of(d), (int64_t)d->free_count,
                   (int64_t)d->replay_count, (int64_t)d->walk_count, null_if_0(d->region_bytes),
                   d->has_samples, d->is_incomplete, text_of(store, p, d->name),
                   null_if_0(d->client_cpu_ns));
    }
}

static void add_heaps(struct hs_sql_store *store, const struct hs_profile *p)
{
    for (uint32_t i = 0; i < p->dump_count && store->err == 0; i++) {
        const struct hs_profile_dump *d = &p->dumps[i];
        for (uint32_t k = 0; k < d->heaps_n; k++) {
            const struct hs_profile_dump_heap *heap = &p->dump_heaps[d->heap_first + k];
            bool is_known = !heap->is_left_out;
            struct hs_own_figures live = hs_own_figures_of(&heap->live, heap->interval_bytes,
                                                           is_known),
                                  alloc = hs_own_figures_of(&heap->alloc, heap->interval_bytes,
                                                            is_known),
                                  peak = hs_own_figures_of(&heap->peak, heap->interval_bytes,
                                                           heap->has_peak && is_known);
            HS_SQL_ADD(
                store, HS_SQL_OWN_HEAPS, i, text_of(store, p, p->heaps[heap->heap]),
                heap->is_carved, heap->is_counted,
                heap->parent == HS_PROFILE_NO_HEAP ? HS_ROWS_NULL
                                                   : text_of(store, p, p->heaps[heap->parent]),
                heap->has_own_samples, heap->is_left_out,
                null_if_0(is_known ? heap->interval_bytes : 0),
                heap->has_peak ? null_if_0(heap->peak_time_ns) : HS_ROWS_NULL,
                HS_OWN_FIGURE_CELLS(live), HS_OWN_FIGURE_CELLS(alloc), HS_OWN_FIGURE_CELLS(peak));
        }
    }
}

/* --- rows that stay in the profile --- */

struct hs_own_tables {
    struct hs_profile *profile;
    int64_t *texts; /* by string of the profile: its number in the store */
    int64_t kinds[4];
    uint32_t *firsts; /* by dump, and one behind the last: its first row of samples */
    /* A node of the profile has one row for its function and one for each call inlined there,
     * outermost first. */
    uint32_t *node_rows;   /* by node, and one behind the last: its first row */
    uint32_t *node_depths; /* by node: depth of its first row */
    uint32_t node;         /* the node whose row was read last */
    /* The row of samples that was read last. */
    uint32_t row, dump;
    struct hs_own_figures sixes[3];
    bool has_six[3];
};

enum node_cell {
    NODE_PARENT,
    NODE_DEPTH,
    NODE_NAME,
    NODE_SYSTEM_NAME,
    NODE_SOURCE_FILE,
    NODE_LINE_NUMBER,
    NODE_MODULE,
    NODE_BUILD_ID,
    NODE_REL_PC,
    NODE_KIND,
    NODE_IS_INLINED,
};

static int64_t text_at(const struct hs_own_tables *own, uint32_t id)
{
    return id == 0 || id >= own->profile->string_count ? HS_ROWS_NULL : own->texts[id];
}

/* The index i for which firsts[i] <= row < firsts[i + 1]; `firsts` has `count` + 1 elements. */
static uint32_t index_of(const uint32_t *firsts, uint32_t count, uint32_t row)
{
    uint32_t low = 0, high = count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (firsts[middle] <= row) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The row of a stack, which is that of its innermost function. */
static int64_t node_cell(void *ctx, uint32_t row, uint32_t cell)
{
    struct hs_own_tables *own = ctx;
    const struct hs_profile *p = own->profile;
    if (row < own->node_rows[own->node] || row >= own->node_rows[own->node + 1]) {
        own->node = index_of(own->node_rows, p->node_count, row);
    }
    const struct hs_profile_node *node = &p->nodes[own->node];
    uint32_t inlined = row - own->node_rows[own->node]; /* 0: the function that contains the code */
    const struct hs_profile_frame *frame = &p->frames[node->frame];
    const struct hs_profile_module *module = &p->modules[frame->module];
    const struct hs_profile_line none = { .function = frame->name, .system_name = frame->name };
    const struct hs_profile_line *line =
        frame->line_count > 0 ? &p->lines[frame->line_first + frame->line_count - 1 - inlined]
                              : &none;
    switch ((enum node_cell)cell) {
    case NODE_PARENT:
        return inlined > 0 ? (int64_t)row - 1
               : node->parent == HS_NODE_NONE
                   ? HS_ROWS_NULL
                   : (int64_t)hs_own_row_of_node(own->node_rows, node->parent);
    case NODE_DEPTH:
        return (int64_t)own->node_depths[own->node] + inlined;
    case NODE_IS_INLINED:
        return inlined > 0;
    case NODE_NAME:
        return text_at(own, line->function);
    case NODE_SYSTEM_NAME:
        return text_at(own, line->system_name);
    case NODE_SOURCE_FILE:
        return text_at(own, line->file);
    case NODE_LINE_NUMBER:
        return null_if_0(line->line);
    case NODE_MODULE:
        return text_at(own, module->path);
    case NODE_BUILD_ID:
        return text_at(own, module->build_id_hex);
    case NODE_REL_PC:
        return (int64_t)frame->rel_pc;
    case NODE_KIND:
        break;
    }
    return own->kinds[frame->kind & 3];
}

enum sample_cell {
    SAMPLE_DUMP,
    SAMPLE_NODE,
    SAMPLE_HEAP,
    SAMPLE_IS_CARVED,
    SAMPLE_IS_COUNTED,
    SAMPLE_AMOUNTS
};

/* Figures and their confidence intervals are computed together: up to three times six values for a
 * row. Only those that a query reads are computed. */
static int64_t figure_cell(struct hs_own_tables *own, const struct hs_profile_dump *d,
                           const struct hs_profile_sample *s, uint32_t cell)
{
    uint32_t which = cell / 6;
    struct hs_own_figures *figures = &own->sixes[which];
    if (!own->has_six[which]) {
        const struct hs_amount *amounts[] = { &s->alloc, &s->live, &s->peak };
        *figures = hs_own_figures_of(amounts[which], d->interval_bytes, which != 2 || d->has_peak);
        own->has_six[which] = true;
    }
    const int64_t cells[] = { HS_OWN_FIGURE_CELLS(*figures) };
    return cells[cell % 6];
}

static int64_t sample_cell(void *ctx, uint32_t row, uint32_t cell)
{
    struct hs_own_tables *own = ctx;
    const struct hs_profile *p = own->profile;
    if (row != own->row) {
        if (row < own->firsts[own->dump] || row >= own->firsts[own->dump + 1]) {
            own->dump = index_of(own->firsts, p->dump_count, row);
        }
        own->row = row;
        memset(own->has_six, 0, sizeof(own->has_six));
    }
    const struct hs_profile_dump *d = &p->dumps[own->dump];
    const struct hs_profile_sample *s = &p->samples[d->sample_first + row - own->firsts[own->dump]];
    const struct hs_profile_dump_heap *heap;
    switch (cell) {
    case SAMPLE_DUMP:
        return own->dump;
    case SAMPLE_NODE:
        return hs_own_row_of_node(own->node_rows, s->node);
    case SAMPLE_HEAP:
        return own->texts[p->heaps[s->heap]];
    case SAMPLE_IS_CARVED:
        heap = hs_profile_dump_heap(p, d, s->heap);
        return heap && heap->is_carved;
    case SAMPLE_IS_COUNTED:
        /* Samples that are not stand behind those that are. */
        return row - own->firsts[own->dump] < d->samples_n;
    default:
        return figure_cell(own, d, s, cell - SAMPLE_AMOUNTS);
    }
}

/* Assigns rows to nodes; parents come before their children. Returns 0, -ENOMEM or -EOVERFLOW. */
static int number_node_rows(struct hs_own_tables *own)
{
    const struct hs_profile *p = own->profile;
    uint64_t row = 0;
    own->node_rows = malloc(((size_t)p->node_count + 1) * sizeof(uint32_t));
    own->node_depths = malloc(((size_t)p->node_count + 1) * sizeof(uint32_t));
    if (!own->node_rows || !own->node_depths) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < p->node_count && row <= INT32_MAX; i++) {
        uint32_t parent = p->nodes[i].parent;
        uint32_t line_count = p->frames[p->nodes[i].frame].line_count;
        own->node_depths[i] =
            parent == HS_NODE_NONE
                ? 0
                : own->node_depths[parent] + own->node_rows[parent + 1] - own->node_rows[parent];
        own->node_rows[i] = (uint32_t)row;
        row += line_count > 0 ? line_count : 1;
        own->node_rows[i + 1] = (uint32_t)row;
    }
    if (p->node_count == 0) {
        own->node_rows[0] = 0;
    }
    return row > INT32_MAX ? -EOVERFLOW : 0;
}

static void set_rows(struct hs_sql_store *store, struct hs_own_tables *own)
{
    static const char *const kinds[] = { "native", "jit", "interpreted", "marker" };
    const struct hs_profile *p = own->profile;
    uint64_t count = 0;
    own->texts = malloc(((size_t)p->string_count + 1) * sizeof(int64_t));
    own->firsts = malloc(((size_t)p->dump_count + 1) * sizeof(uint32_t));
    int err = own->texts && own->firsts ? number_node_rows(own) : -ENOMEM;
    if (err < 0) {
        store->err = err;
        return;
    }
    for (uint32_t i = 0; i < p->string_count; i++) {
        own->texts[i] = hs_sql_store_str(store, hs_profile_string(p, i));
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        own->kinds[i] = hs_sql_store_str(store, kinds[i]);
    }
    for (uint32_t i = 0; i < p->dump_count; i++) {
        own->firsts[i] = (uint32_t)count;
        count += (uint64_t)p->dumps[i].samples_n + p->dumps[i].aside_n;
    }
    own->firsts[p->dump_count] = (uint32_t)count;
    if (count > INT32_MAX) {
        store->err = -EOVERFLOW;
        return;
    }
    hs_rows_set(&store->tables[HS_SQL_OWN_NODES], own->node_rows[p->node_count], node_cell, own);
    hs_rows_set(&store->tables[HS_SQL_OWN_SAMPLES], (uint32_t)count, sample_cell, own);
}

/* --- tables with few rows --- */

static void add_processes(struct hs_sql_store *store, const struct hs_profile *p)
{
    static const char *const exits[] = { "running", "code", "signal", "unknown", "executed" };
    for (uint32_t i = 0; i < p->process_count && store->err == 0; i++) {
        const struct hs_profile_process *process = &p->processes[i];
        bool is_ended = process->exit_kind == HS_EXIT_CODE || process->exit_kind == HS_EXIT_SIGNAL;
        HS_SQL_ADD(store, HS_SQL_OWN_PROCESSES, process->pid, null_if_0(process->ppid),
                   null_if_0(process->forked_from_pid), text_of(store, p, process->name),
                   text_of(store, p, process->exe), text_of(store, p, process->cmdline),
                   text_of(store, p, process->malloc_path), null_if_0(process->start_ns),
                   null_if_0(process->end_ns), process->is_from_startup, process->has_own_malloc,
                   hs_sql_store_str(store, process->exit_kind <= HS_EXIT_EXECUTED
                                               ? exits[process->exit_kind]
                                               : NULL),
                   is_ended ? process->exit_value : HS_ROWS_NULL, process->is_oom_killed,
                   process->refusal, text_of(store, p, process->refusal_text),
                   text_of(store, p, process->refusal_remedy), process->dump_count,
                   process->last_dump == UINT32_MAX ? HS_ROWS_NULL : (int64_t)process->last_dump);
    }
}

static void add_nameless(struct hs_sql_store *store, const struct hs_profile *p)
{
    for (uint32_t i = 0; i < p->nameless_count; i++) {
        const struct hs_profile_nameless *one = &p->nameless[i];
        HS_SQL_ADD(store, HS_SQL_OWN_NAMELESS, text_of(store, p, one->path),
                   text_of(store, p, one->build_id_hex),
                   hs_sql_store_str(store, hs_nameless_reason_name(one->reason)),
                   hs_sql_store_str(store, hs_nameless_reason_text(one->reason)),
                   text_of(store, p, one->detail), (int64_t)one->nameless_count,
                   (int64_t)one->address_count);
    }
}

static void add_threads_losses_changes(struct hs_sql_store *store, const struct hs_profile *p)
{
    for (uint32_t i = 0; i < p->thread_count; i++) {
        const struct hs_profile_thread *thread = &p->threads[i];
        uint32_t last = p->processes[thread->process].last_dump;
        uint64_t interval_bytes = last < p->dump_count ? p->dumps[last].interval_bytes : 0;
        struct hs_own_figures live =
            hs_own_figures_of(&thread->live, interval_bytes, !p->has_removed_heaps);
        HS_SQL_ADD(store, HS_SQL_OWN_THREADS, thread->process, thread->tid,
                   text_of(store, p, thread->name), (int64_t)thread->start_ns,
                   HS_OWN_FIGURE_CELLS(live));
    }
    for (uint32_t i = 0; i < p->loss_count; i++) {
        const struct hs_profile_loss *loss = &p->losses[i];
        HS_SQL_ADD(store, HS_SQL_OWN_LOSSES,
                   loss->process == HS_PROFILE_NO_PROCESS ? HS_ROWS_NULL : (int64_t)loss->process,
                   text_of(store, p, loss->name), text_of(store, p, loss->text),
                   (int64_t)loss->count, loss->is_serious,
                   loss->alloc_count > 0 ? hs_rows_real(loss->alloc_count) : HS_ROWS_NULL,
                   loss->alloc_count > 0 ? hs_rows_real(loss->bytes) : HS_ROWS_NULL);
    }
    for (uint32_t i = 0; i < p->change_count; i++) {
        const struct hs_profile_change *change = &p->changes[i];
        HS_SQL_ADD(store, HS_SQL_OWN_CHANGES, change->process, (int64_t)change->time_ns,
                   (int64_t)change->from_bytes, (int64_t)change->to_bytes, change->reason,
                   (int64_t)change->limit, change->rarity);
    }
}

static void add_loss_times(struct hs_sql_store *store, const struct hs_profile *p)
{
    for (uint32_t i = 0; i < p->loss_time_count; i++) {
        const struct hs_profile_loss_time *time = &p->loss_times[i];
        HS_SQL_ADD(store, HS_SQL_OWN_LOSS_TIMES, time->loss.process,
                   text_of(store, p, time->loss.name), (int64_t)time->from_ns, (int64_t)time->to_ns,
                   (int64_t)time->loss.count, time->loss.is_serious);
    }
}

/* One row; none if the file does not tell what recording cost. */
static void add_cost(struct hs_sql_store *store, const struct hs_profile *p)
{
    if (p->has_cost) {
        HS_SQL_ADD(store, HS_SQL_OWN_COST, (int64_t)p->cost.recording_cpu_ns,
                   (int64_t)p->cost.names_cpu_ns, null_if_0(p->cost.collector_cpu_ns),
                   null_if_0(p->cost.collector_rss_peak_bytes));
    }
}

struct hs_own_tables *hs_own_tables_new(struct hs_sql_store *store, struct hs_profile *profile)
{
    struct hs_own_tables *own = calloc(1, sizeof(*own));
    if (!own) {
        hs_profile_free(profile);
        return NULL;
    }
    own->profile = profile;
    int r = hs_frame_types_apply(profile);
    store->err = store->err ? store->err : r;
    own->row = UINT32_MAX;
    add_processes(store, profile);
    add_dumps(store, profile);
    add_heaps(store, profile);
    add_threads_losses_changes(store, profile);
    add_loss_times(store, profile);
    add_cost(store, profile);
    add_nameless(store, profile);
    set_rows(store, own);
    if (store->err == 0) {
        hs_own_ledgers_add(store, profile, own->node_rows);
        hs_own_parts_add(store, profile, own->node_rows);
        hs_own_births_add(store, profile, own->node_rows);
        hs_own_lifetimes_add(store, profile, own->node_rows);
        hs_own_blocks_add(store, profile, own->node_rows);
    }
    return own;
}

void hs_own_tables_free(struct hs_own_tables *own)
{
    if (own) {
        hs_profile_free(own->profile);
        free(own->texts);
        free(own->firsts);
        free(own->node_rows);
        free(own->node_depths);
        free(own);
    }
}
