/*
 * The part of the report that says which stacks mapped resident memory. See report_parts.h.
 *
 *     Which stacks mapped the resident memory?   of the heap mmap
 *      resident    share    mapped   mapped by
 *      40.1 MiB   94.2 %   390 MiB   commit(…) [libvm.so] < reserve_heap(…) < start_vm(…)
 *          ...
 */
#include <errno.h>
#include <stdlib.h>

#include "profile/analyse/mapped_sums.h"
#include "rt/base.h"
#include "util/cxx_name.h"
#include "util/json.h"
#include "view/report_parts.h"

/* A stack is shown when it has this share of what is resident. */
#define SHOWN_SHARE 0.01

/* --- text ------------------------------------------------------------------------------------- */

/*
 * Runtimes and libraries map memory through wrappers of their own, so that many stacks begin alike.
 * A row has the innermost function, and then the callers from where on its stack differs from the
 * others that are shown.
 */
#define CALLERS_SHOWN 3U

struct rows {
    const struct hs_report *report;
    const struct hs_mapped_sums *sums;
    uint32_t count;  /* of those that are shown */
    uint32_t *nodes; /* by row: where the shown part of the stack begins; HS_NODE_NONE: unknown */
    struct hs_table table;
};

static uint32_t function_of(const struct rows *rows, uint32_t node)
{
    return rows->report->agg.nodes[node].function;
}

static uint32_t caller_of(const struct rows *rows, uint32_t node)
{
    const struct hs_agg *agg = &rows->report->agg;
    uint32_t parent = agg->nodes[node].parent;
    return parent == HS_NODE_NONE || agg->functions[agg->nodes[parent].function].is_heap
               ? HS_NODE_NONE
               : parent;
}

/* How many functions two stacks have in common, from the inside. */
static uint32_t count_common(const struct rows *rows, uint32_t a, uint32_t b)
{
    uint32_t count = 0;
    while (a != HS_NODE_NONE && b != HS_NODE_NONE && function_of(rows, a) == function_of(rows, b)) {
        a = caller_of(rows, a);
        b = caller_of(rows, b);
        count++;
    }
    return count;
}

static void add_name(const struct rows *rows, uint32_t node, struct hs_buf *text)
{
    struct hs_buf name = HS_BUF_INIT;
    hs_agg_write_function(&rows->report->agg, function_of(rows, node), &name);
    hs_cxx_write(text, hs_buf_text(&name), HS_CXX_NO_ARGUMENTS);
    hs_buf_deinit(&name);
}

static void add_callers(const struct rows *rows, uint32_t row, struct hs_buf *text)
{
    uint32_t common = 1, at = caller_of(rows, rows->nodes[row]);
    for (uint32_t i = 0; i < rows->count; i++) {
        uint32_t count = i == row ? 0 : count_common(rows, rows->nodes[row], rows->nodes[i]);
        common = count > common ? count : common;
    }
    for (uint32_t i = 1; i < common && at != HS_NODE_NONE; i++) {
        at = caller_of(rows, at);
    }
    const char *before = common > 1 ? " … " : " < ";
    for (uint32_t i = 0; i < CALLERS_SHOWN && at != HS_NODE_NONE; i++) {
        hs_buf_str(text, before);
        add_name(rows, at, text);
        at = caller_of(rows, at);
        before = " < ";
    }
}

static void add_row(struct rows *rows, uint32_t row)
{
    const struct hs_profile_mapped_stack *stack = &rows->sums->stacks[row];
    const struct hs_profile_mapped_stack *all = &rows->sums->all;
    struct hs_table *table = &rows->table;
    char size[HS_HUMAN_BYTES];
    struct hs_buf text = HS_BUF_INIT, place = HS_BUF_INIT;
    hs_table_cell(table, "%s", hs_human_bytes(size, (double)stack->rss_bytes));
    hs_table_cell(table, "%s",
                  hs_human_share(size, (double)stack->rss_bytes, (double)all->rss_bytes));
    hs_table_cell(table, "%s",
                  all->swap_bytes ? hs_human_bytes(size, (double)stack->swap_bytes) : "");
    hs_table_cell(table, "%s", hs_human_bytes(size, (double)stack->size_bytes));
    if (rows->nodes[row] == HS_NODE_NONE) {
        hs_buf_str(&text, "a stack that this snapshot does not have");
    } else {
        add_name(rows, rows->nodes[row], &text);
        hs_report_write_place(rows->report, rows->nodes[row], &place);
        hs_buf_printf(&text, "%s%s", hs_buf_text(&place)[0] ? " " : "", hs_buf_text(&place));
        add_callers(rows, row, &text);
    }
    hs_table_cell(table, "%s", hs_buf_text(&text));
    hs_buf_deinit(&text);
    hs_buf_deinit(&place);
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

static int write_table(struct hs_report *report, const struct hs_mapped_sums *sums)
{
    static const struct hs_table_column columns[] = {
        { "resident", HS_TABLE_RIGHT }, { "share", HS_TABLE_RIGHT },    { "swap", HS_TABLE_RIGHT },
        { "mapped", HS_TABLE_RIGHT },   { "mapped by", HS_TABLE_TEXT },
    };
    struct rows rows = { .report = report, .sums = sums, .count = count_shown(report, sums) };
    rows.nodes = calloc(rows.count + 1u, sizeof(rows.nodes[0]));
    if (!rows.nodes) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t leaf = sums->stacks[i].node; /* of the report's tree */
        rows.nodes[i] = leaf == HS_NODE_NONE ? leaf : hs_agg_headline(&report->agg, leaf);
    }
    hs_table_init(&rows.table, columns, HS_COUNT_OF(columns));
    for (uint32_t i = 0; i < rows.count; i++) {
        add_row(&rows, i);
    }
    hs_report_write_table(report, &rows.table, "3 2 1");
    free(rows.nodes);
    return 0;
}

int hs_report_write_mapped(struct hs_report *report)
{
    struct hs_mapped_sums sums;
    int err = hs_mapped_sums_of(&report->selection, report->agg.mmap_nodes, &sums);
    if (err < 0) {
        return err;
    }
    if (sums.all.rss_bytes + sums.all.swap_bytes > 0) {
        hs_report_heading(report, "Which stacks mapped the resident memory?",
                          "of the heap mmap, when the memory was read");
        err = write_table(report, &sums);
    }
    hs_mapped_sums_deinit(&sums);
    return err;
}

/* --- JSON ------------------------------------------------------------------------------------- */

int hs_report_json_mapped(const struct hs_report *report, struct hs_json *json)
{
    struct hs_mapped_sums sums;
    int err = hs_mapped_sums_of(&report->selection, report->agg.mmap_nodes, &sums);
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
            hs_report_json_frames(report, json, stack->node);
            hs_json_close(json, '}');
        }
        hs_json_close(json, ']');
    }
    hs_mapped_sums_deinit(&sums);
    return 0;
}
