/*
 * heapscope_parts: see own_ledgers.h.
 */
#include "profile/model/describe.h"
#include "profile/model/dump_heaps.h"
#include "sql/store/own_figures.h"
#include "sql/store/own_ledgers.h"
#include "util/buf.h"

/* A scope with those that it lies in, the outermost first. */
static int64_t scope_of(struct hs_sql_store *store, const struct hs_profile *p, uint32_t scope)
{
    struct hs_buf text = HS_BUF_INIT;
    if (scope == 0) {
        return HS_ROWS_NULL;
    }
    hs_describe_scope(p, scope, &text);
    int64_t id = hs_sql_store_str(store, hs_buf_text(&text));
    hs_buf_deinit(&text);
    return id;
}

static void add_part(struct hs_sql_store *store, const struct hs_profile *p, uint32_t dump,
                     enum hs_part_view view, const struct hs_profile_part *part,
                     const uint32_t *node_rows)
{
    const struct hs_profile_dump *d = &p->dumps[dump];
    const struct hs_profile_dump_heap *heap = hs_profile_dump_heap(p, d, part->heap);
    uint64_t widest_bytes = heap ? heap->interval_widest_bytes : hs_dump_widest_bytes(d);
    struct hs_amount amount = part->amount;
    hs_amount_widen(&amount, (float)widest_bytes);
    struct hs_own_figures figures = hs_own_figures_of(&amount, widest_bytes, true);
    int64_t age_ms =
        part->age_class < HS_AGE_CLASSES ? (int64_t)hs_age_from_ms[part->age_class] : HS_ROWS_NULL;
    HS_SQL_ADD(
        store, HS_SQL_OWN_PARTS, dump,
        hs_sql_store_str(store, view == HS_PARTS_PEAK ? "peak" : "live"),
        (int64_t)hs_own_row_of_node(node_rows, part->node),
        hs_sql_store_str(store, hs_profile_string(p, p->heaps[part->heap])),
        !heap || heap->is_counted, part->is_others ? HS_ROWS_NULL : (int64_t)part->tid,
        part->is_others ? HS_ROWS_NULL
                        : hs_sql_store_str(store, hs_profile_string(p, part->thread_name)),
        part->type ? hs_sql_store_str(store, hs_profile_string(p, part->type)) : HS_ROWS_NULL,
        scope_of(store, p, part->scope), age_ms, part->is_others, HS_OWN_FIGURE_CELLS(figures));
}

void hs_own_parts_add(struct hs_sql_store *store, const struct hs_profile *p,
                      const uint32_t *node_rows)
{
    for (uint32_t d = 0; d < p->dump_count; d++) {
        for (unsigned view = 0; view < HS_PART_VIEWS && p->dumps[d].has_parts; view++) {
            const struct hs_profile_part *parts = p->parts + p->dumps[d].part_first[view];
            for (uint32_t i = 0; i < p->dumps[d].parts_n[view] && store->err == 0; i++) {
                add_part(store, p, d, view, &parts[i], node_rows);
            }
        }
    }
}
