/*
 * Reads HsLedger: see load_ledger.h.
 */
#include "profile/read/load_ledger.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "profile/model/builder.h"
#include "profile/read/load_pins.h"

/* A limit for broken files. */
#define LINES_MAX 1000000U

static uint64_t number(const uint64_t *column, size_t count, size_t i)
{
    return i < count ? column[i] : 0;
}

static double real_number(const double *column, size_t count, size_t i)
{
    return i < count && isfinite(column[i]) && column[i] > 0 ? column[i] : 0;
}

static void set_line(struct hs_load *load, const Hs__Pb__HsLedger *from, size_t i,
                     struct hs_profile_ledger_line *line)
{
    uint32_t kind = from->kind[i];
    *line = (struct hs_profile_ledger_line){
        .kind = kind < HS_LEDGER_KIND_N ? kind : HS_LEDGER_UNKNOWN,
        .name = i < from->n_name ? hs_builder_string(load->builder, from->name[i]) : 0,
        .count = number(from->count, from->n_count, i),
        .size_bytes = number(from->size_bytes, from->n_size_bytes, i),
        .rss_bytes = number(from->line_rss_bytes, from->n_line_rss_bytes, i),
        .pss_bytes = number(from->line_pss_bytes, from->n_line_pss_bytes, i),
        .swap_bytes = number(from->line_swap_bytes, from->n_line_swap_bytes, i),
        .blocks = {
            .bytes = real_number(from->blocks_bytes, from->n_blocks_bytes, i),
            .sampled_bytes =
                real_number(from->blocks_sampled_bytes, from->n_blocks_sampled_bytes, i),
            .variance = real_number(from->blocks_variance, from->n_blocks_variance, i),
            .weight_bytes =
                real_number(from->blocks_weight_bytes, from->n_blocks_weight_bytes, i),
        .used_bytes = number(from->blocks_used_bytes, from->n_blocks_used_bytes, i),
},
        .rss_margin_bytes = number(from->line_rss_margin_bytes, from->n_line_rss_margin_bytes, i),
    };
}

static void load_stacks(struct hs_load *load, const struct hs_interned *tables,
                        const Hs__Pb__HsLedger *from, uint32_t ledger)
{
    size_t count =
        from->n_stack_callstack_iid < LINES_MAX ? from->n_stack_callstack_iid : LINES_MAX;
    struct hs_profile_mapped_stack *stacks = calloc(count + 1, sizeof(stacks[0]));
    if (!stacks) {
        load->err = -ENOMEM;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        stacks[i] = (struct hs_profile_mapped_stack){
            .node = hs_load_node(load, tables, from->stack_callstack_iid[i]),
            .count = number(from->stack_count, from->n_stack_count, i),
            .size_bytes = number(from->stack_size_bytes, from->n_stack_size_bytes, i),
            .rss_bytes = number(from->stack_rss_bytes, from->n_stack_rss_bytes, i),
            .swap_bytes = number(from->stack_swap_bytes, from->n_stack_swap_bytes, i),
        };
    }
    hs_builder_mapped_stacks(load->builder, ledger, stacks, count);
    free(stacks);
}

static uint32_t load_one(struct hs_load *load, const struct hs_interned *tables,
                         const Hs__Pb__HsLedger *from)
{
    size_t count = from->n_kind < LINES_MAX ? from->n_kind : LINES_MAX;
    struct hs_profile_ledger_line *lines = calloc(count + 1, sizeof(lines[0]));
    if (!lines) {
        load->err = -ENOMEM;
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        set_line(load, from, i, &lines[i]);
    }
    const struct hs_profile_ledger ledger = {
        .time_ns = from->time_ns,
        .rss_bytes = from->rss_bytes,
        .pss_bytes = from->pss_bytes,
        .swap_bytes = from->swap_bytes,
        .page_table_bytes = from->page_table_bytes,
        .hugetlb_bytes = from->hugetlb_bytes,
        .malloc_result = from->malloc_result,
        .arena_count = from->arena_count,
        .is_free_cut = from->is_free_cut,
        .trim_bytes = from->trim_bytes,
        .trim_margin_bytes = from->trim_margin_bytes,
        .malloc_part_share = from->malloc_part_share > 1 ? from->malloc_part_share : 1,
    };
    uint32_t idx = hs_builder_ledger(load->builder, &ledger, lines, count);
    free(lines);
    load_stacks(load, tables, from, idx);
    return idx;
}

void hs_load_ledgers(struct hs_load *load, const struct hs_interned *tables,
                     const Hs__Pb__HsDump *dump, struct hs_profile_dump *head)
{
    if (dump->n_ledgers > 0) {
        head->ledger = head->rss_peak_ledger = 0;
    }
    for (size_t i = 0; i < dump->n_ledgers; i++) {
        uint32_t *idx = dump->ledgers[i]->is_rss_peak ? &head->rss_peak_ledger : &head->ledger;
        *idx = load_one(load, tables, dump->ledgers[i]);
    }
    hs_load_pins(load, tables, dump, head);
}
