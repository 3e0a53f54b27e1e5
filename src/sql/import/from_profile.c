/*
 * See from_profile.h.
 */
#include "sql/import/from_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/saturate.h"

static int64_t text_of(struct hs_sql_store *store, const struct hs_profile *p, uint32_t id)
{
    return hs_sql_store_str(store, hs_profile_string(p, id));
}

static void add_code(struct hs_sql_store *store, const struct hs_profile *p)
{
    for (uint32_t i = 0; i < p->module_count && store->err == 0; i++) {
        const struct hs_profile_module *m = &p->modules[i];
        HS_SQL_ADD(store, HS_SQL_MAPPING, text_of(store, p, m->build_id_hex), (int64_t)m->exec_off,
                   0, (int64_t)m->start_va, (int64_t)m->end_va, 0, text_of(store, p, m->path));
    }
    for (uint32_t i = 0; i < p->frame_count && store->err == 0; i++) {
        const struct hs_profile_frame *f = &p->frames[i];
        int64_t set =
            f->line_count > 0 ? (int64_t)store->tables[HS_SQL_SYMBOL].count : HS_ROWS_NULL;
        uint32_t name = f->name;
        for (uint32_t k = 0; k < f->line_count; k++) {
            const struct hs_profile_line *line = &p->lines[f->line_first + k];
            int64_t file = line->file ? text_of(store, p, line->file) : HS_ROWS_NULL;
            HS_SQL_ADD(store, HS_SQL_SYMBOL, set, text_of(store, p, line->function), file,
                       line->file ? (int64_t)line->line : HS_ROWS_NULL, k + 1 < f->line_count);
            name = line->system_name ? line->system_name : line->function;
        }
        HS_SQL_ADD(store, HS_SQL_FRAME, text_of(store, p, name), f->module, (int64_t)f->rel_pc, set,
                   HS_ROWS_NULL, HS_ROWS_NULL);
    }
    for (uint32_t i = 0; i < p->node_count && store->err == 0; i++) {
        const struct hs_profile_node *n = &p->nodes[i];
        HS_SQL_ADD(store, HS_SQL_CALLSITE, n->depth,
                   n->parent == HS_NODE_NONE ? HS_ROWS_NULL : (int64_t)n->parent, n->frame);
    }
}

static void add_processes(struct hs_sql_store *store, const struct hs_profile *p)
{
    for (uint32_t i = 0; i <= p->process_count && store->err == 0; i++) {
        const struct hs_profile_process *process = i > 0 ? &p->processes[i - 1] : NULL;
        HS_SQL_ADD(store, HS_SQL_PROCESS, process ? process->pid : 0,
                   process && process->name ? text_of(store, p, process->name) : HS_ROWS_NULL,
                   HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL,
                   HS_ROWS_NULL,
                   process && process->cmdline ? text_of(store, p, process->cmdline) : HS_ROWS_NULL,
                   HS_ROWS_NULL, HS_ROWS_NULL);
    }
}

struct totals {
    int64_t alloc_bytes, alloc_count, freed_bytes, freed_count;
};

static struct totals totals_of(const struct hs_profile_sample *s)
{
    if (!s) {
        return (struct totals){ 0 };
    }
    struct totals t = { .alloc_bytes = hs_saturate_round(s->alloc.bytes),
                        .alloc_count = hs_saturate_round(s->alloc.count) };
    t.freed_bytes = hs_saturate_subtract(t.alloc_bytes, hs_saturate_round(s->live.bytes));
    t.freed_count = hs_saturate_subtract(t.alloc_count, hs_saturate_round(s->live.count));
    return t;
}

/* The sample of the same stack and heap in the previous dump. Both lists are sorted. */
static const struct hs_profile_sample *same_before(const struct hs_profile *p,
                                                   const struct hs_profile_dump *before,
                                                   const struct hs_profile_sample *s, uint32_t *at)
{
    while (before && *at < before->samples_n) {
        const struct hs_profile_sample *b = &p->samples[before->sample_first + *at];
        if (b->node == s->node && b->heap == s->heap) {
            return b;
        }
        if (b->node > s->node || (b->node == s->node && b->heap > s->heap)) {
            return NULL;
        }
        ++*at;
    }
    return NULL;
}

/* Adds a row for each heap of a dump. */
static void add_heaps(struct hs_sql_store *store, const struct hs_profile *p,
                      const struct hs_profile_dump *d, const struct hs_heap_patterns *heaps)
{
    int64_t end = hs_saturate_signed(d->time_ns);
    int64_t start = d->start_ns != 0 ? hs_saturate_signed(d->start_ns) : end;
    for (uint32_t h = 0; h < p->heap_count && store->err == 0; h++) {
        const char *name = hs_profile_string(p, p->heaps[h]);
        int r = heaps && heaps->count > 0 ? hs_heap_patterns_match(heaps, name) : 1;
        if (r > 0) {
            HS_SQL_ADD(store, HS_SQL_HEAP_PROFILE, start, end, hs_saturate_subtract(end, start),
                       d->process + 1, text_of(store, p, p->heaps[h]));
        } else if (r < 0) {
            store->err = r;
        }
    }
}

static void add_dump(struct hs_sql_store *store, const struct hs_profile *p,
                     const struct hs_profile_dump *d, const struct hs_profile_dump *before)
{
    uint32_t at = 0;
    int64_t ts = hs_saturate_signed(d->time_ns), upid = d->process + 1;
    for (uint32_t k = 0; k < d->samples_n && store->err == 0; k++) {
        const struct hs_profile_sample *s = &p->samples[d->sample_first + k];
        struct totals was = totals_of(same_before(p, before, s, &at)), now = totals_of(s);
        int64_t heap = text_of(store, p, p->heaps[s->heap]);
        int64_t bytes = hs_saturate_subtract(now.alloc_bytes, was.alloc_bytes),
                count = hs_saturate_subtract(now.alloc_count, was.alloc_count);
        if (bytes != 0 || count != 0) {
            HS_SQL_ADD(store, HS_SQL_ALLOCATION, ts, upid, heap, s->node, count, bytes);
        }
        bytes = hs_saturate_subtract(now.freed_bytes, was.freed_bytes);
        count = hs_saturate_subtract(now.freed_count, was.freed_count);
        if (bytes != 0 || count != 0) {
            HS_SQL_ADD(store, HS_SQL_ALLOCATION, ts, upid, heap, s->node,
                       hs_saturate_subtract(0, count), hs_saturate_subtract(0, bytes));
        }
    }
}

static void add_dumps(struct hs_sql_store *store, const struct hs_profile *p,
                      const struct hs_heap_patterns *heaps)
{
    uint32_t *last = malloc(((size_t)p->process_count + 1) * sizeof(*last));
    if (!last) {
        store->err = -ENOMEM;
        return;
    }
    memset(last, 0xff, ((size_t)p->process_count + 1) * sizeof(*last));
    for (uint32_t i = 0; i < p->dump_count && store->err == 0; i++) {
        uint32_t *before = &last[p->dumps[i].process];
        if (p->dumps[i].has_samples) {
            add_dump(store, p, &p->dumps[i], *before == UINT32_MAX ? NULL : &p->dumps[*before]);
            add_heaps(store, p, &p->dumps[i], heaps);
            *before = i;
        }
    }
    free(last);
}

/* Adds the last dump of each process, with pprof's names. */
static void add_aggregates(struct hs_sql_store *store, const struct hs_profile *p)
{
    static const char *const types[][2] = { { "alloc_objects", "count" },
                                            { "alloc_space", "bytes" },
                                            { "inuse_objects", "count" },
                                            { "inuse_space", "bytes" } };
    for (uint32_t i = 0; i < 4 && p->dump_count > 0; i++) {
        uint32_t id =
            HS_SQL_ADD(store, HS_SQL_AGGREGATE_PROFILE, hs_sql_store_str(store, "heap"),
                       hs_sql_store_str(store, types[i][0]), hs_sql_store_str(store, types[i][0]),
                       hs_sql_store_str(store, types[i][1]));
        for (uint32_t k = 0; k < p->process_count && store->err == 0; k++) {
            uint32_t last = p->processes[k].last_dump;
            const struct hs_profile_dump *d = last == UINT32_MAX ? NULL : &p->dumps[last];
            for (uint32_t n = 0; d && n < d->samples_n; n++) {
                const struct hs_profile_sample *s = &p->samples[d->sample_first + n];
                const double values[] = { s->alloc.count, s->alloc.bytes, s->live.count,
                                          s->live.bytes };
                HS_SQL_ADD(store, HS_SQL_AGGREGATE_SAMPLE, id, s->node, hs_rows_real(values[i]));
            }
        }
    }
}

void hs_sql_from_profile(struct hs_sql_store *store, const struct hs_profile *profile,
                         const struct hs_heap_patterns *heaps)
{
    for (int i = 0; i < HS_SQL_OWN_FIRST; i++) {
        /* Rows that the import made before it found that the file is not a trace. */
        hs_rows_deinit(&store->tables[i]);
    }
    add_code(store, profile);
    add_processes(store, profile);
    add_dumps(store, profile, heaps);
    add_aggregates(store, profile);
}
