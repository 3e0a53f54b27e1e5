/*
 * heapscope_lifetimes: the freed blocks of each stack, by lifetime, and the temporary ones.
 *
 * See       own_ledgers.h, docs/SQL.md, trace/freed_sums.h
 */
#include "profile/model/dump_heaps.h"
#include "sql/store/own_figures.h"
#include "sql/store/own_ledgers.h"
#include "sql/store/own_tables.h"

static void add_sum(struct hs_sql_store *store, const struct hs_profile *p, uint32_t dump,
                    const struct hs_profile_lifetime *sum, const uint32_t *node_rows)
{
    const struct hs_profile_dump *d = &p->dumps[dump];
    const struct hs_profile_dump_heap *heap = hs_profile_dump_heap(p, d, sum->heap);
    uint64_t widest_bytes = heap ? heap->interval_widest_bytes : hs_dump_widest_bytes(d);
    struct hs_amount amount = { .bytes = sum->bytes,
                                .count = sum->count,
                                .bytes_var = sum->bytes_var,
                                .count_var = sum->count_var };
    bool is_times = sum->what == HS_LIFETIME_SUM_TIMES;
    bool is_temporary = sum->what >= HS_LIFETIME_SUM_TEMPORARY && !is_times;
    unsigned class_ = is_temporary ? sum->what - HS_LIFETIME_SUM_TEMPORARY : sum->what;
    hs_margin_split(&amount,
                    heap && heap->interval_bytes ? heap->interval_bytes : d->interval_bytes);
    hs_amount_widen(&amount, (float)widest_bytes);
    struct hs_own_figures figures = hs_own_figures_of(&amount, widest_bytes, !is_times);
    const char *kind = is_times ? "times" : is_temporary ? "temporary" : "lifetime";
    int64_t from_ms = !is_times && !is_temporary && class_ < HS_LIFETIME_UNKNOWN
                          ? (int64_t)hs_lifetime_from_ms[class_]
                          : HS_ROWS_NULL;
    int64_t between = is_temporary ? (int64_t)((1U << class_) - 1) : HS_ROWS_NULL;
    HS_SQL_ADD(store, HS_SQL_OWN_LIFETIMES, dump, (int64_t)hs_own_row_of_node(node_rows, sum->node),
               hs_sql_store_str(store, hs_profile_string(p, p->heaps[sum->heap])),
               !heap || heap->is_counted, hs_sql_store_str(store, kind), from_ms, between,
               HS_OWN_FIGURE_CELLS(figures), is_times ? hs_rows_real(sum->bytes) : HS_ROWS_NULL,
               is_times ? hs_rows_real(sum->count) : HS_ROWS_NULL);
}

void hs_own_lifetimes_add(struct hs_sql_store *store, const struct hs_profile *p,
                          const uint32_t *node_rows)
{
    for (uint32_t d = 0; d < p->dump_count; d++) {
        const struct hs_profile_lifetime *sums = p->lifetimes + p->dumps[d].lifetime_first;
        for (uint32_t i = 0;
             i < p->dumps[d].lifetimes_n && p->dumps[d].has_lifetimes && store->err == 0; i++) {
            add_sum(store, p, d, &sums[i], node_rows);
        }
    }
}
