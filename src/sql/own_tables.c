/*
 * See own_tables.h.
 */
#include "sql/own_tables.h"

#include "profile/margin.h"
#include "trace/snapshot.h"

static int64_t text_of(struct hs_sql_store *store, const struct hs_profile *p, uint32_t id)
{
    return id == 0 ? HS_ROWS_NULL : hs_sql_store_str(store, hs_profile_string(p, id));
}

/* 0 is "unknown" there. */
static int64_t known(uint64_t value)
{
    return value == 0 ? HS_ROWS_NULL : (int64_t)value;
}

struct six {
    int64_t bytes, count, bytes_low, bytes_high, count_low, count_high;
};

static struct six six_of(const struct hs_amount *amount, bool is_known)
{
    if (!is_known) {
        return (struct six){ HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL,
                             HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL };
    }
    struct hs_figure bytes = hs_figure_of(amount, false), count = hs_figure_of(amount, true);
    struct hs_margin of_bytes = hs_margin_of(&bytes), of_count = hs_margin_of(&count);
    return (struct six){
        .bytes = hs_rows_real(amount->bytes),
        .count = hs_rows_real(amount->count),
        .bytes_low = hs_rows_real(amount->bytes - of_bytes.below),
        .bytes_high = hs_rows_real(amount->bytes + of_bytes.above),
        .count_low = hs_rows_real(amount->count - of_count.below),
        .count_high = hs_rows_real(amount->count + of_count.above),
    };
}

#define SIX(s) (s).bytes, (s).count, (s).bytes_low, (s).bytes_high, (s).count_low, (s).count_high

static void add_dumps(struct hs_sql_store *store, const struct hs_profile *p)
{
    for (uint32_t i = 0; i < p->dump_count && store->err == 0; i++) {
        const struct hs_profile_dump *d = &p->dumps[i];
        struct six live = six_of(&d->live, true), alloc = six_of(&d->alloc, true),
                   peak = six_of(&d->peak, d->has_peak);
        HS_SQL_ADD(store, HS_SQL_OWN_DUMPS, d->process, d->index, d->is_final, (int64_t)d->start_ns,
                   (int64_t)d->time_ns, known(d->peak_time_ns), (int64_t)d->interval_bytes,
                   (int64_t)d->orig_interval_bytes, known(d->rss_bytes), known(d->rss_peak_bytes),
                   known(d->rss_start_bytes), d->has_peak, d->has_scaled_counts, SIX(live),
                   SIX(alloc), SIX(peak), (int64_t)d->sample_count, (int64_t)d->free_count,
                   (int64_t)d->replay_count, (int64_t)d->walk_count, known(d->region_bytes),
                   d->has_samples, d->is_incomplete);
    }
}

static void add_nodes(struct hs_sql_store *store, const struct hs_profile *p)
{
    static const char *const kinds[] = { "native", "jit", "interpreted", "marker" };
    for (uint32_t i = 0; i < p->node_count && store->err == 0; i++) {
        const struct hs_profile_node *node = &p->nodes[i];
        const struct hs_profile_frame *frame = &p->frames[node->frame];
        const struct hs_profile_module *module = &p->modules[frame->module];
        const struct hs_profile_line none = { .function = frame->name, .system_name = frame->name };
        /* The function that the code is in, not one inlined there. */
        const struct hs_profile_line *line =
            frame->line_count > 0 ? &p->lines[frame->line_first + frame->line_count - 1] : &none;
        HS_SQL_ADD(store, HS_SQL_OWN_NODES,
                   node->parent == HS_NODE_NONE ? HS_ROWS_NULL : (int64_t)node->parent, node->depth,
                   text_of(store, p, line->function), text_of(store, p, line->system_name),
                   text_of(store, p, line->file), known(line->line),
                   text_of(store, p, module->path), text_of(store, p, module->build_id_hex),
                   (int64_t)frame->rel_pc, hs_sql_store_str(store, kinds[frame->kind & 3]));
    }
}

static void add_samples(struct hs_sql_store *store, const struct hs_profile *p)
{
    for (uint32_t i = 0; i < p->dump_count; i++) {
        const struct hs_profile_dump *d = &p->dumps[i];
        for (uint32_t k = 0; k < d->samples_n && store->err == 0; k++) {
            const struct hs_profile_sample *s = &p->samples[d->sample_first + k];
            struct six alloc = six_of(&s->alloc, true), live = six_of(&s->live, true);
            struct six peak = six_of(&s->peak, d->has_peak);
            HS_SQL_ADD(store, HS_SQL_OWN_SAMPLES, i, s->node,
                       hs_sql_store_str(store, hs_profile_string(p, p->heaps[s->heap])), SIX(alloc),
                       SIX(live), SIX(peak));
        }
    }
}

static void add_processes(struct hs_sql_store *store, const struct hs_profile *p)
{
    static const char *const exits[] = { "running", "code", "signal", "unknown", "executed" };
    for (uint32_t i = 0; i < p->process_count && store->err == 0; i++) {
        const struct hs_profile_process *process = &p->processes[i];
        bool is_ended = process->exit_kind == HS_EXIT_CODE || process->exit_kind == HS_EXIT_SIGNAL;
        HS_SQL_ADD(store, HS_SQL_OWN_PROCESSES, process->pid, known(process->ppid),
                   known(process->forked_from_pid), text_of(store, p, process->name),
                   text_of(store, p, process->exe), text_of(store, p, process->cmdline),
                   text_of(store, p, process->malloc_path), known(process->start_ns),
                   known(process->end_ns), process->is_from_startup, process->has_own_malloc,
                   hs_sql_store_str(store, process->exit_kind <= HS_EXIT_EXECUTED
                                               ? exits[process->exit_kind]
                                               : NULL),
                   is_ended ? process->exit_value : HS_ROWS_NULL, process->is_oom_killed,
                   process->refusal, text_of(store, p, process->refusal_text),
                   text_of(store, p, process->refusal_remedy), process->dump_count,
                   process->last_dump == UINT32_MAX ? HS_ROWS_NULL : (int64_t)process->last_dump);
    }
}

static void add_the_rest(struct hs_sql_store *store, const struct hs_profile *p)
{
    for (uint32_t i = 0; i < p->thread_count; i++) {
        const struct hs_profile_thread *thread = &p->threads[i];
        struct six live = six_of(&thread->live, true);
        HS_SQL_ADD(store, HS_SQL_OWN_THREADS, thread->process, thread->tid,
                   text_of(store, p, thread->name), (int64_t)thread->start_ns, SIX(live));
    }
    for (uint32_t i = 0; i < p->loss_count; i++) {
        const struct hs_profile_loss *loss = &p->losses[i];
        HS_SQL_ADD(store, HS_SQL_OWN_LOSSES,
                   loss->process == HS_PROFILE_NO_PROCESS ? HS_ROWS_NULL : (int64_t)loss->process,
                   text_of(store, p, loss->name), text_of(store, p, loss->text),
                   (int64_t)loss->count, loss->is_serious);
    }
    for (uint32_t i = 0; i < p->change_count; i++) {
        const struct hs_profile_change *change = &p->changes[i];
        HS_SQL_ADD(store, HS_SQL_OWN_CHANGES, change->process, (int64_t)change->time_ns,
                   (int64_t)change->from_bytes, (int64_t)change->to_bytes, change->reason,
                   (int64_t)change->limit, change->rarity);
    }
}

void hs_sql_own_tables(struct hs_sql_store *store, const struct hs_profile *profile)
{
    add_processes(store, profile);
    add_dumps(store, profile);
    add_nodes(store, profile);
    add_samples(store, profile);
    add_the_rest(store, profile);
}
