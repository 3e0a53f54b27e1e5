/*
 * Writes a comparison as tables and as a tree. See diff_view.h.
 *
 * The tables list functions by what they allocated themselves: totals of callers would repeat the
 * same changes.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base.h"
#include "util/human.h"
#include "util/table.h"
#include "util/utf8.h"
#include "view/diff_view.h"
#include "view/format_interval.h"

/* How deep the tree is drawn, and the smallest share of the largest change that it shows. */
#define TREE_DEPTH_MAX 200
#define TREE_SHARE_MIN 0.005
/* With this many rows, the text says that chance makes one row in twenty look changed. */
#define ROWS_MANY 20

static const char *const titles[HS_DIFF_VERDICT_N] = {
    [HS_DIFF_GREW] = "Grew", [HS_DIFF_SHRANK] = "Shrank",      [HS_DIFF_NEW] = "New",
    [HS_DIFF_GONE] = "Gone", [HS_DIFF_NOISE] = "Within noise", [HS_DIFF_SAME] = "Unchanged",
};

static const struct hs_table_column columns[] = {
    { "change", HS_TABLE_RIGHT }, { "95 %", HS_TABLE_RIGHT }, { "before", HS_TABLE_RIGHT },
    { "after", HS_TABLE_RIGHT },  { "", HS_TABLE_RIGHT },     { "function", HS_TABLE_NAME },
    { "", HS_TABLE_NOTE },
};

static void add_row(struct hs_table *table, const struct hs_diff *diff, uint32_t function,
                    const struct hs_diff_change *change)
{
    bool is_count = hs_views[diff->view].is_count;
    char cell[HS_DIFF_CELL_BYTES], figure[HS_FORMAT_INTERVAL_BYTES];
    const char *module = hs_diff_module(diff, function);
    hs_table_cell(table, "%s", hs_diff_signed(cell, is_count, change->delta));
    hs_table_cell(table, "%s", hs_diff_interval(cell, is_count, change));
    hs_table_cell(table, "%s", hs_format_value(figure, is_count, change->before));
    hs_table_cell(table, "%s", hs_format_value(figure, is_count, change->after));
    hs_table_cell(table, "%s", hs_diff_percent(cell, change));
    hs_table_cell(table, "%s", hs_diff_name(diff, function));
    hs_table_cell(table, module[0] && module[0] != '[' ? "[%s]" : "%s", module);
}

static void write_table(const struct hs_diff *diff, const struct hs_diff_options *options,
                        enum hs_diff_verdict verdict, const uint32_t *order, uint32_t count,
                        struct hs_buf *buf)
{
    struct hs_table table;
    uint32_t found = 0;
    hs_table_init(&table, columns, HS_COUNT_OF(columns));
    for (uint32_t i = 0; i < count; i++) {
        struct hs_diff_change change = hs_diff_change_of(diff, &diff->functions[order[i]].self);
        if (change.verdict == verdict && found++ < options->top_count) {
            add_row(&table, diff, order[i], &change);
        }
    }
    const struct hs_diff_table_end end = { .title = titles[verdict],
                                           .row_count = found,
                                           .top_count = options->top_count,
                                           .columns = options->columns,
                                           .has_colour = options->has_colour };
    hs_diff_end_table(&table, &end, buf);
    hs_table_deinit(&table);
}

/* Writes "Within noise: 12 functions, +3.0 KiB in sum". */
static void write_sum(const struct hs_diff *diff, enum hs_diff_verdict verdict,
                      const uint32_t *order, uint32_t count, struct hs_buf *buf)
{
    char cell[HS_DIFF_CELL_BYTES];
    double delta = 0;
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct hs_diff_change change = hs_diff_change_of(diff, &diff->functions[order[i]].self);
        if (change.verdict == verdict) {
            delta += change.delta;
            found++;
        }
    }
    if (found == 0) {
        return;
    }
    hs_buf_printf(buf, "%s: %u function%s", titles[verdict], found, found == 1 ? "" : "s");
    if (verdict == HS_DIFF_NOISE) {
        hs_buf_printf(buf, ", %s in total",
                      hs_diff_signed(cell, hs_views[diff->view].is_count, delta));
    }
    hs_buf_char(buf, '\n');
}

/* Writes the change of the processes of each name, when there are several. */
static void write_processes(const struct hs_diff *diff, const struct hs_diff_options *options,
                            struct hs_buf *buf)
{
    static const struct hs_table_column process_columns[] = {
        { "change", HS_TABLE_RIGHT }, { "95 %", HS_TABLE_RIGHT },   { "before", HS_TABLE_RIGHT },
        { "after", HS_TABLE_RIGHT },  { "verdict", HS_TABLE_LEFT }, { "process", HS_TABLE_NAME },
        { "", HS_TABLE_NOTE },
    };
    bool is_count = hs_views[diff->view].is_count;
    struct hs_table table;
    char cell[HS_DIFF_CELL_BYTES], figure[HS_FORMAT_INTERVAL_BYTES];
    hs_table_init(&table, process_columns, HS_COUNT_OF(process_columns));
    for (uint32_t i = 0; i < diff->process_count && i < options->top_count; i++) {
        const struct hs_diff_process *process = &diff->processes[i];
        struct hs_diff_change change = hs_diff_change_of(diff, &process->total);
        uint32_t before = process->counts[HS_DIFF_BEFORE], after = process->counts[HS_DIFF_AFTER];
        hs_table_cell(&table, "%s", hs_diff_signed(cell, is_count, change.delta));
        hs_table_cell(&table, "%s", hs_diff_interval(cell, is_count, &change));
        hs_table_cell(&table, "%s", hs_format_value(figure, is_count, change.before));
        hs_table_cell(&table, "%s", hs_format_value(figure, is_count, change.after));
        hs_table_cell(&table, "%s", hs_diff_verdict_names[change.verdict]);
        hs_table_cell(&table, "%s", diff->text.data + process->name_off);
        if (before == after && after == 1) {
            hs_table_cell(&table, "%s", "");
        } else if (before == after) {
            hs_table_cell(&table, "%u processes", after);
        } else {
            hs_table_cell(&table, "%u process%s before, %u after", before, before == 1 ? "" : "es",
                          after);
        }
    }
    hs_buf_str(buf, "\nProcesses, by the name of the program file\n");
    hs_diff_write_table(&table, options->columns, options->has_colour, "1", buf);
    if (diff->process_count > options->top_count) {
        hs_buf_printf(buf, "  and %u more; --top all lists them\n",
                      diff->process_count - options->top_count);
    }
    hs_table_deinit(&table);
}

int hs_diff_write_text(const struct hs_diff *diff, const struct hs_diff_options *options,
                       struct hs_buf *buf)
{
    static const enum hs_diff_verdict told[] = { HS_DIFF_GREW, HS_DIFF_NEW, HS_DIFF_SHRANK,
                                                 HS_DIFF_GONE };
    uint32_t *order;
    uint32_t count;
    int err = hs_diff_sorted_functions(diff, &order, &count);
    if (err < 0) {
        return err;
    }
    hs_diff_write_head(diff, options, buf);
    err = hs_diff_write_ledger(options, buf);
    if (hs_diff_has_processes(diff)) {
        write_processes(diff, options, buf);
    }
    for (size_t i = 0; i < HS_COUNT_OF(told); i++) {
        write_table(diff, options, told[i], order, count, buf);
    }
    hs_buf_char(buf, '\n');
    write_sum(diff, HS_DIFF_NOISE, order, count, buf);
    write_sum(diff, HS_DIFF_SAME, order, count, buf);
    if (count >= ROWS_MANY && (diff->interval_bytes[0] > 1 || diff->interval_bytes[1] > 1)) {
        hs_buf_printf(
            buf,
            "Each of the %u rows is tested separately, at 95 %% confidence. If nothing had "
            "changed, about %.0f of them would still seem to have changed.\n",
            count, rint(0.05 * count));
    }
    free(order);
    return err ? err : buf->err;
}

struct child {
    uint32_t parent; /* node_count: it is an outermost function */
    uint32_t node;
    double weight;
};

static int compare_children(const void *a, const void *b)
{
    const struct child *x = a, *y = b;
    if (x->parent != y->parent) {
        return x->parent < y->parent ? -1 : 1;
    }
    if (x->weight != y->weight) {
        return x->weight > y->weight ? -1 : 1;
    }
    return x->node < y->node ? -1 : x->node > y->node;
}

/*
 * Weighs each node by the sum of all absolute changes below it, although increases and decreases
 * may cancel out.
 */
static double *weights_of(const struct hs_diff *diff)
{
    double *weights = calloc(diff->node_count + 1u, sizeof(*weights));
    for (uint32_t i = diff->node_count; i > 0 && weights; i--) {
        struct hs_diff_change change = hs_diff_change_of(diff, &diff->nodes[i - 1].self);
        uint32_t parent = diff->nodes[i - 1].parent;
        weights[i - 1] += fabs(change.delta);
        weights[parent == HS_NODE_NONE ? diff->node_count : parent] += weights[i - 1];
    }
    return weights;
}

static void write_node(const struct hs_diff *diff, uint32_t node, struct hs_buf *buf)
{
    bool is_count = hs_views[diff->view].is_count;
    const struct hs_diff_node *at = &diff->nodes[node];
    struct hs_diff_change change = hs_diff_change_of(diff, &at->total);
    const char *name = hs_diff_name(diff, at->function);
    const char *module = hs_diff_module(diff, at->function);
    char delta[HS_DIFF_CELL_BYTES], before[HS_FORMAT_INTERVAL_BYTES],
        after[HS_FORMAT_INTERVAL_BYTES];
    hs_diff_signed(delta, is_count, change.delta);
    hs_text_pad(buf, delta, 12, true);
    hs_buf_printf(buf, "  %-6s  ", hs_diff_verdict_names[change.verdict]);
    hs_buf_repeat(buf, ' ', 2 * (size_t)(at->depth < TREE_DEPTH_MAX ? at->depth : TREE_DEPTH_MAX));
    hs_utf8_write(buf, name, strlen(name));
    if (module[0]) {
        hs_buf_str(buf, " [");
        hs_utf8_write(buf, module, strlen(module));
        hs_buf_char(buf, ']');
    }
    hs_buf_printf(buf, "  (%s -> %s)\n", hs_format_value(before, is_count, change.before),
                  hs_format_value(after, is_count, change.after));
}

/* Depth first, with an explicit stack: a tree from a file may be deep. */
static int walk(const struct hs_diff *diff, const struct child *children, const uint32_t *first,
                double least, struct hs_buf *buf)
{
    uint32_t *stack = calloc(diff->node_count + 1u, sizeof(*stack));
    uint32_t depth = 0;
    if (!stack) {
        return -ENOMEM;
    }
    for (uint32_t i = first[diff->node_count + 1]; i > first[diff->node_count]; i--) {
        stack[depth++] = i - 1;
    }
    while (depth > 0) {
        const struct child *at = &children[stack[--depth]];
        if (at->weight < least || !(at->weight > 0)) {
            continue;
        }
        write_node(diff, at->node, buf);
        for (uint32_t i = first[at->node + 1]; i > first[at->node]; i--) {
            stack[depth++] = i - 1;
        }
    }
    free(stack);
    return 0;
}

int hs_diff_write_tree(const struct hs_diff *diff, const struct hs_diff_options *options,
                       struct hs_buf *buf)
{
    double *weights = weights_of(diff);
    struct child *children = calloc(diff->node_count + 1u, sizeof(*children));
    uint32_t *first = calloc(diff->node_count + 2u, sizeof(*first));
    int err = weights && children && first ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < diff->node_count && err == 0; i++) {
        uint32_t parent = diff->nodes[i].parent;
        parent = parent == HS_NODE_NONE ? diff->node_count : parent;
        children[i] = (struct child){ .parent = parent, .node = i, .weight = weights[i] };
        first[parent + 1]++;
    }
    if (err == 0) {
        for (uint32_t i = 1; i < diff->node_count + 2; i++) {
            first[i] += first[i - 1];
        }
        qsort(children, diff->node_count, sizeof(*children), compare_children);
        hs_diff_write_head(diff, options, buf);
        hs_buf_char(buf, '\n');
        double least =
            options->top_count == HS_DIFF_ALL ? 0 : TREE_SHARE_MIN * weights[diff->node_count];
        err = walk(diff, children, first, least, buf);
    }
    free(weights);
    free(children);
    free(first);
    return err ? err : buf->err;
}
