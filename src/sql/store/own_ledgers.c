/*
 * See own_ledgers.h.
 */
#include "sql/store/own_ledgers.h"

#include "profile/model/margin.h"
#include "util/saturate.h"

static int64_t text_of(struct hs_sql_store *store, const struct hs_profile *p, uint32_t id)
{
    return id == 0 ? HS_ROWS_NULL : hs_sql_store_str(store, hs_profile_string(p, id));
}

static void add_ledger(struct hs_sql_store *store, const struct hs_profile *p, uint32_t dump,
                       uint32_t idx, bool is_rss_peak)
{
    if (idx == 0 || idx > p->ledger_count) {
        return;
    }
    const struct hs_profile_ledger *ledger = &p->ledgers[idx - 1];
    int64_t changed_bytes = (int64_t)ledger->rss_bytes;
    for (uint32_t i = 0; i < ledger->lines_n; i++) {
        const struct hs_profile_ledger_line *line = &p->ledger_lines[ledger->line_first + i];
        const struct hs_ledger_blocks *blocks = &line->blocks;
        struct hs_ledger_ends ends = hs_ledger_blocks_ends(blocks, line->rss_bytes);
        bool has_blocks = blocks->bytes > 0 || blocks->weight_bytes > 0;
        HS_SQL_ADD(store, HS_SQL_OWN_LEDGER, dump, is_rss_peak, (int64_t)ledger->time_ns,
                   hs_sql_store_str(store, hs_ledger_kind_key(line->kind)),
                   text_of(store, p, line->name), (int64_t)line->count, (int64_t)line->size_bytes,
                   (int64_t)line->rss_bytes, (int64_t)line->pss_bytes, (int64_t)line->swap_bytes,
                   hs_ledger_is_explained(line->kind, line->name != 0),
                   has_blocks ? hs_rows_real(hs_ledger_blocks_figure(blocks, line->rss_bytes).value)
                              : HS_ROWS_NULL,
                   has_blocks ? hs_rows_real(ends.low_bytes) : HS_ROWS_NULL,
                   has_blocks ? hs_rows_real(ends.high_bytes) : HS_ROWS_NULL,
                   blocks->used_bytes > 0 ? (int64_t)blocks->used_bytes : HS_ROWS_NULL,
                   (int64_t)line->rss_margin_bytes);
        changed_bytes = hs_saturate_subtract(changed_bytes, (int64_t)line->rss_bytes);
    }
    if (changed_bytes != 0) {
        HS_SQL_ADD(store, HS_SQL_OWN_LEDGER, dump, is_rss_peak, (int64_t)ledger->time_ns,
                   hs_sql_store_str(store, "changed"), text_of(store, p, 0), 0, 0, changed_bytes, 0,
                   0, false, HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL, 0);
    }
}

static void add_mapped(struct hs_sql_store *store, const struct hs_profile *p,
                       const uint32_t *node_rows, uint32_t dump, uint32_t idx, bool is_rss_peak)
{
    if (idx == 0 || idx > p->ledger_count) {
        return;
    }
    const struct hs_profile_ledger *ledger = &p->ledgers[idx - 1];
    for (uint32_t i = 0; i < ledger->stacks_n; i++) {
        const struct hs_profile_mapped_stack *stack = &p->mapped_stacks[ledger->stack_first + i];
        HS_SQL_ADD(store, HS_SQL_OWN_MAPPED, dump, is_rss_peak, (int64_t)ledger->time_ns,
                   stack->node < p->node_count ? (int64_t)hs_own_row_of_node(node_rows, stack->node)
                                               : HS_ROWS_NULL,
                   (int64_t)stack->count, (int64_t)stack->size_bytes, (int64_t)stack->rss_bytes,
                   (int64_t)stack->swap_bytes);
    }
}

static void add_pins(struct hs_sql_store *store, const struct hs_profile *p,
                     const uint32_t *node_rows)
{
    for (uint32_t d = 0; d < p->dump_count; d++) {
        uint32_t idx = p->dumps[d].pins;
        for (uint32_t i = 0; idx > 0 && i < p->pins[idx - 1].stack_count; i++) {
            const struct hs_profile_pins *pins = &p->pins[idx - 1];
            const struct hs_profile_pin *pin = &pins->stacks[i];
            HS_SQL_ADD(store, HS_SQL_OWN_PINS, d, (int64_t)pins->time_ns,
                       pin->node < p->node_count ? (int64_t)hs_own_row_of_node(node_rows, pin->node)
                                                 : HS_ROWS_NULL,
                       (int64_t)pin->block_count, (int64_t)pin->block_bytes,
                       (int64_t)pin->rounding_bytes, (int64_t)pin->sparse_page_bytes,
                       (int64_t)pin->sparse_block_bytes, (int64_t)pin->gain.bytes,
                       (int64_t)pin->gain.low_bytes, (int64_t)pin->gain.high_bytes,
                       (int64_t)pin->set_gain.bytes, (int64_t)pin->set_gain.low_bytes,
                       (int64_t)pin->set_gain.high_bytes, pins->is_exact);
        }
    }
}

void hs_own_ledgers_add(struct hs_sql_store *store, const struct hs_profile *p,
                        const uint32_t *node_rows)
{
    for (uint32_t i = 0; i < p->dump_count; i++) {
        add_ledger(store, p, i, p->dumps[i].ledger, false);
        add_ledger(store, p, i, p->dumps[i].rss_peak_ledger, true);
    }
    for (uint32_t i = 0; i < p->dump_count; i++) {
        add_mapped(store, p, node_rows, i, p->dumps[i].ledger, false);
        add_mapped(store, p, node_rows, i, p->dumps[i].rss_peak_ledger, true);
    }
    add_pins(store, p, node_rows);
}
