/*
 * The part of the report that says which stacks mapped resident memory. See report_parts.h.
 *
 *     Which stacks mapped the resident memory?   of the heap mmap
 *      resident    share    mapped   mapped by
 *      40.1 MiB   94.2 %   390 MiB   commit(…) [libvm.so] < reserve_heap(…) < start_vm(…)
 *          ...
 */
#include <stdlib.h>

#include "profile/analyse/mapped_sums.h"
#include "rt/base.h"
#include "util/cxx_name.h"
#include "util/json.h"
#include "view/report_parts.h"

/* A stack is shown when it has this share of what is resident. */
#define SHOWN_SHARE 0.01

/* The node of a stack in the tree of the report; HS_NODE_NONE: it is not there. */
static uint32_t node_of(const struct hs_report *report, const struct hs_profile_mapped_stack *stack)
{
    return stack->node < report->profile->node_count ? report->agg.mmap_nodes[stack->node]
                                                     : HS_NODE_NONE;
}

/* --- text ------------------------------------------------------------------------------------- */

/* Runtimes and libraries map memory through wrappers of their own, so one name says little. */
#define CALLERS_SHOWN 3

static void add_name(const struct hs_report *report, uint32_t node, struct hs_buf *text)
{
    struct hs_buf name = HS_BUF_INIT;
    hs_agg_write_function(&report->agg, report->agg.nodes[node].function, &name);
    hs_cxx_write(text, hs_buf_text(&name), HS_CXX_NO_ARGUMENTS);
    hs_buf_deinit(&name);
}

static void add_callers(const struct hs_report *report, uint32_t node, struct hs_buf *text)
{
    const struct hs_agg *agg = &report->agg;
    uint32_t at = agg->nodes[node].parent;
    for (int i = 0; i < CALLERS_SHOWN && at != HS_NODE_NONE &&
                    !agg->functions[agg->nodes[at].function].is_heap;
         i++, at = agg->nodes[at].parent) {
        hs_buf_str(text, " < ");
        add_name(report, at, text);
    }
}

static void add_row(const struct hs_report *report, struct hs_table *table,
                    const struct hs_mapped_sums *sums, const struct hs_profile_mapped_stack *stack)
{
    char size[HS_HUMAN_BYTES];
    struct hs_buf text = HS_BUF_INIT;
    uint32_t leaf = node_of(report, stack);
    hs_table_cell(table, "%s", hs_human_bytes(size, (double)stack->rss_bytes));
    hs_table_cell(table, "%s",
                  hs_human_share(size, (double)stack->rss_bytes, (double)sums->all.rss_bytes));
    hs_table_cell(table, "%s",
                  sums->all.swap_bytes ? hs_human_bytes(size, (double)stack->swap_bytes) : "");
    hs_table_cell(table, "%s", hs_human_bytes(size, (double)stack->size_bytes));
    if (leaf == HS_NODE_NONE) {
        hs_buf_str(&text, "a stack that this snapshot does not have");
    } else {
        uint32_t node = hs_agg_headline(&report->agg, leaf);
        add_name(report, node, &text);
        hs_buf_char(&text, ' ');
        hs_report_write_place(report, node, &text);
        add_callers(report, node, &text);
    }
    hs_table_cell(table, "%s", hs_buf_text(&text));
    hs_buf_deinit(&text);
}

static uint32_t count_shown(const struct hs_report *report, const struct hs_mapped_sums *sums)
{
    bool has_all = report->options->top_count == HS_REPORT_ALL;
    uint32_t count = 0;
    while (count < sums->stack_count && count < report->options->top_count &&
           (has_all ||
            (double)sums->stacks[count].rss_bytes > SHOWN_SHARE * (double)sums->all.rss_bytes)) {
        count++;
    }
    return count;
}

static void write_table(struct hs_report *report, const struct hs_mapped_sums *sums)
{
    static const struct hs_table_column columns[] = {
        { "resident", HS_TABLE_RIGHT }, { "share", HS_TABLE_RIGHT },    { "swap", HS_TABLE_RIGHT },
        { "mapped", HS_TABLE_RIGHT },   { "mapped by", HS_TABLE_TEXT },
    };
    struct hs_table table;
    uint32_t count = count_shown(report, sums);
    hs_table_init(&table, columns, HS_COUNT_OF(columns));
    for (uint32_t i = 0; i < count; i++) {
        add_row(report, &table, sums, &sums->stacks[i]);
    }
    hs_report_write_table(report, &table, "3 2 1");
}

int hs_report_write_mapped(struct hs_report *report)
{
    struct hs_mapped_sums sums;
    int err = hs_mapped_sums_of(&report->selection, &sums);
    if (err < 0) {
        return err;
    }
    if (sums.all.rss_bytes + sums.all.swap_bytes > 0) {
        hs_report_heading(report, "Which stacks mapped the resident memory?",
                          "of the heap mmap, when the memory was read");
        write_table(report, &sums);
    }
    hs_mapped_sums_deinit(&sums);
    return 0;
}

/* --- JSON ------------------------------------------------------------------------------------- */

int hs_report_json_mapped(const struct hs_report *report, struct hs_json *json)
{
    struct hs_mapped_sums sums;
    int err = hs_mapped_sums_of(&report->selection, &sums);
    if (err < 0) {
        return err;
    }
    if (sums.stack_count > 0) {
        hs_json_key(json, "mapped_stacks");
        hs_json_open(json, '[');
        for (uint32_t i = 0; i < sums.stack_count; i++) {
            const struct hs_profile_mapped_stack *stack = &sums.stacks[i];
            hs_json_open(json, '{');
            hs_json_kv_uint(json, "range_count", stack->count);
            hs_json_kv_uint(json, "size_bytes", stack->size_bytes);
            hs_json_kv_uint(json, "rss_bytes", stack->rss_bytes);
            hs_json_kv_uint(json, "swap_bytes", stack->swap_bytes);
            hs_report_json_frames(report, json, node_of(report, stack));
            hs_json_close(json, '}');
        }
        hs_json_close(json, ']');
    }
    hs_mapped_sums_deinit(&sums);
    return 0;
}
