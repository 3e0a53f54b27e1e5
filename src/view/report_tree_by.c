/*
 * A call tree for each group of parts: report --tree --by.
 *
 *     type Node   1.00 MiB, 4.2 % of all
 *       512 KiB   50.0 %  main
 *       512 KiB   50.0 %  └ run_script
 *
 * Shares within a tree are of the tree. See report_parts.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/json.h"
#include "util/utf8.h"
#include "view/report_parts.h"

/* The groups, of which the innermost are by stack: those are the leaves of the trees. */
struct trees {
    struct hs_report *report;
    struct hs_agg agg; /* by function; its selves are those of the current tree */
    struct hs_part_groups groups;
    struct hs_agg_self *selves; /* of the current tree */
    bool has_chain;             /* in any tree, a function has no figures */
};

static int init(struct trees *trees, struct hs_report *report)
{
    *trees = (struct trees){ .report = report };
    int err = hs_agg_build(&report->selection, false, &trees->agg);
    if (err != 0) {
        return err;
    }
    const struct hs_part_groups *asked = &report->options->by;
    trees->groups.label_key = asked->label_key;
    for (uint32_t i = 0; i < asked->by_count; i++) {
        if (asked->by[i] != HS_PART_BY_STACK) {
            trees->groups.by[trees->groups.by_count++] = asked->by[i];
        }
    }
    trees->groups.by[trees->groups.by_count++] = HS_PART_BY_STACK;
    err = hs_part_groups_build(&report->selection, &trees->agg, hs_views[report->view].quantity,
                               &trees->groups);
    if (err == 0) {
        trees->selves = calloc(trees->agg.node_count + 1u, sizeof(trees->selves[0]));
        err = trees->selves ? 0 : -ENOMEM;
    }
    return err;
}

static void deinit(struct trees *trees)
{
    free(trees->selves);
    hs_part_groups_deinit(&trees->groups);
    hs_agg_deinit(&trees->agg);
}

static int compare_nodes(const void *a, const void *b)
{
    const struct hs_agg_self *x = a, *y = b;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* The tree of the stacks below the group `idx`. Its arrays belong to `trees`. */
static struct hs_agg tree_of(struct trees *trees, uint32_t idx)
{
    enum hs_quantity quantity = hs_views[trees->report->view].quantity;
    struct hs_agg agg = trees->agg;
    agg.selves = trees->selves;
    agg.self_count = 0;
    for (uint32_t i = idx + 1;
         i < trees->groups.count && trees->groups.groups[i].depth > trees->groups.groups[idx].depth;
         i++) {
        const struct hs_part_group *group = &trees->groups.groups[i];
        struct hs_agg_self self = { .node = hs_part_group_node(group) };
        self.by[quantity] = group->amount;
        agg.selves[agg.self_count++] = self;
    }
    if (agg.self_count > 0) {
        qsort(agg.selves, agg.self_count, sizeof(agg.selves[0]), compare_nodes);
    }
    return agg;
}

/* --- text ------------------------------------------------------------------------------------- */

/* Writes "type Node, thread main": what the group `idx` is of, from the outermost group on. */
static void write_title(const struct trees *trees, const uint32_t *path, uint32_t depth,
                        struct hs_buf *buf)
{
    for (uint32_t d = 0; d <= depth; d++) {
        enum hs_part_by by = trees->groups.by[d];
        struct hs_buf name = HS_BUF_INIT;
        hs_part_group_write(trees->report->profile, by, &trees->groups.groups[path[d]], &name);
        hs_buf_printf(buf, "%s%s ", d > 0 ? ", " : "", hs_part_by_names[by]);
        hs_utf8_write(buf, hs_buf_text(&name), name.bytes);
        hs_buf_deinit(&name);
    }
}

static int write_tree(struct trees *trees, const uint32_t *path, uint32_t depth)
{
    struct hs_report *report = trees->report;
    const struct hs_part_group *group = &trees->groups.groups[path[depth]];
    const struct hs_agg agg = tree_of(trees, path[depth]);
    char value[HS_FORMAT_INTERVAL_BYTES], share[HS_FORMAT_INTERVAL_BYTES],
        remark[3 * HS_FORMAT_INTERVAL_BYTES];
    struct hs_buf title = HS_BUF_INIT;
    double figure = hs_report_value(report, &group->amount);
    hs_format_value(value, hs_views[report->view].is_count, figure);
    hs_human_share(share, figure, hs_report_value(report, &report->total));
    snprintf(remark, sizeof(remark), "%s%s, %s of all", value,
             hs_views[report->view].is_count ? " objects" : "", share);
    write_title(trees, path, depth, &title);
    hs_report_heading(report, hs_buf_text(&title), remark);
    hs_buf_deinit(&title);
    return hs_report_write_tree_of(report, &agg, figure, &trees->has_chain);
}

static void write_hidden(struct hs_report *report, uint32_t count, const struct hs_amount *amount)
{
    char text[HS_FORMAT_INTERVAL_BYTES], line[2 * HS_FORMAT_INTERVAL_BYTES];
    hs_format_value(text, hs_views[report->view].is_count, hs_report_value(report, amount));
    snprintf(line, sizeof(line), "%u more tree%s with %s%s are not shown; --top all shows each",
             count, count == 1 ? "" : "s", text, hs_views[report->view].is_count ? " objects" : "");
    hs_buf_char(report->buf, '\n');
    hs_report_write_wrapped(report, "", line);
}

int hs_report_write_trees(struct hs_report *report)
{
    struct trees trees;
    uint32_t path[HS_PART_BY_N] = { 0 }, shown = 0, hidden = 0;
    struct hs_amount hidden_amount = { 0 };
    int err = init(&trees, report);
    for (uint32_t i = 0; err == 0 && i < trees.groups.count; i++) {
        uint32_t depth = trees.groups.groups[i].depth;
        path[depth] = i;
        if (depth + 2 != trees.groups.by_count) {
            continue;
        }
        if (shown++ < report->options->top_count) {
            err = write_tree(&trees, path, depth);
        } else {
            hidden++;
            hs_amount_add(&hidden_amount, &trees.groups.groups[i].amount);
        }
    }
    if (err == 0) {
        hs_report_write_chain_words(report, trees.has_chain);
    }
    if (err == 0 && hidden > 0) {
        write_hidden(report, hidden, &hidden_amount);
    }
    deinit(&trees);
    return err;
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* Writes the groups at this depth from `first` on, those below them, and in the innermost ones a
 * tree. *ret_end: where they end. */
static int write_groups(struct trees *trees, struct hs_json *json, uint32_t first, uint32_t depth,
                        uint32_t *ret_end)
{
    const struct hs_part_groups *groups = &trees->groups;
    uint32_t i = first;
    int err = 0;
    hs_json_key(json, "parts");
    hs_json_open(json, '[');
    while (i < groups->count && groups->groups[i].depth == depth && err == 0) {
        uint32_t idx = i++;
        hs_json_open(json, '{');
        hs_report_json_group(trees->report, json, groups->by[depth], &groups->groups[idx]);
        if (depth + 2 == groups->by_count) {
            const struct hs_agg agg = tree_of(trees, idx);
            err = hs_report_json_tree_of(trees->report, json, &agg, &groups->groups[idx].amount);
            i += agg.self_count;
        } else {
            err = write_groups(trees, json, i, depth + 1, &i);
        }
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
    *ret_end = i;
    return err;
}

int hs_report_json_trees(struct hs_report *report, struct hs_json *json)
{
    struct trees trees;
    uint32_t end;
    int err = init(&trees, report);
    err = err ? err : write_groups(&trees, json, 0, 0, &end);
    deinit(&trees);
    return err;
}
