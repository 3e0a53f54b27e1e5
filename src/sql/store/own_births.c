/*
 * heapscope_births: see own_ledgers.h.
 */
#include "profile/model/dump_heaps.h"
#include "sql/store/own_figures.h"
#include "sql/store/own_ledgers.h"

static void add_birth(struct hs_sql_store *store, const struct hs_profile *p, uint32_t dump,
                      const struct hs_profile_birth *birth, const uint32_t *node_rows)
{
    const struct hs_profile_dump *d = &p->dumps[dump];
    const struct hs_profile_dump_heap *heap = hs_profile_dump_heap(p, d, birth->heap);
    uint64_t widest_bytes = heap ? heap->interval_widest_bytes : hs_dump_widest_bytes(d);
    struct hs_amount amount = birth->amount;
    hs_amount_widen(&amount, (float)widest_bytes);
    struct hs_own_figures figures = hs_own_figures_of(&amount, widest_bytes, true);
    uint64_t from_ms = birth->window * d->birth_window_ms;
    uint64_t end_ms = from_ms + d->birth_window_ms;
    HS_SQL_ADD(store, HS_SQL_OWN_BIRTHS, dump, (int64_t)hs_own_row_of_node(node_rows, birth->node),
               hs_sql_store_str(store, hs_profile_string(p, p->heaps[birth->heap])),
               !heap || heap->is_counted, (int64_t)from_ms,
               (int64_t)(end_ms < d->birth_span_ms ? end_ms : d->birth_span_ms), figures.bytes,
               figures.count, figures.bytes_low, figures.bytes_high);
}

void hs_own_births_add(struct hs_sql_store *store, const struct hs_profile *p,
                       const uint32_t *node_rows)
{
    for (uint32_t d = 0; d < p->dump_count; d++) {
        for (uint32_t i = 0; i < p->dumps[d].births_n && store->err == 0; i++) {
            add_birth(store, p, d, &p->births[p->dumps[d].birth_first + i], node_rows);
        }
    }
}
