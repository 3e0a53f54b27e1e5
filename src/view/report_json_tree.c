/*
 * The call tree as JSON: nested objects, main first, with the figures of the view. See
 * report_parts.h.
 *
 *     { "function": "main", "module": "/usr/bin/prog",
 *       "self": { "bytes": 0, "count": 0 }, "total": { "bytes": 412, "count": 9 },
 *       "children": [ { "function": "run", ... } ],
 *       "others": { "functions": 3, "total": { "bytes": 2, "count": 1 } } }
 *
 * A node's total is the sum of its self, its children's totals and "others". The latter sums up the
 * functions below 1 % (unless everything was requested), and levels deeper than JSON readers
 * accept.
 */
#include <errno.h>
#include <stdlib.h>

#include "util/json.h"
#include "view/report_parts.h"

#define SHARE_MIN 0.01
/* A level takes two levels of JSON; Python's reader gives up at a thousand. */
#define TREE_DEPTH_MAX 400

_Static_assert(2 * TREE_DEPTH_MAX + 16 < HS_JSON_DEPTH, "the deepest node has room");

struct walker {
    struct hs_report *report;
    struct hs_json *json;
    struct hs_agg agg; /* by function; it belongs to the caller */
    struct hs_amount *totals, *selves;
    struct hs_agg_children tree;
    double least;
};

static double value_of(const struct walker *w, uint32_t node)
{
    return hs_report_value(w->report, &w->totals[node]);
}

static void write_children(struct walker *w, uint32_t node, unsigned depth);

static void write_node(struct walker *w, uint32_t node, unsigned depth)
{
    hs_json_open(w->json, '{');
    hs_report_json_function(w->report, w->json, &w->agg, w->agg.nodes[node].function);
    hs_report_json_amount(w->json, "self", &w->selves[node]);
    hs_report_json_amount(w->json, "total", &w->totals[node]);
    hs_json_key(w->json, "children");
    write_children(w, node, depth + 1);
    hs_json_close(w->json, '}');
}

/*
 * Writes the array of children and, behind it, "others". `node` may be node_count: then the
 * outermost functions.
 */
static void write_children(struct walker *w, uint32_t node, unsigned depth)
{
    struct hs_amount others = { 0 };
    uint32_t others_count = 0;
    hs_json_open(w->json, '[');
    for (uint32_t i = w->tree.first[node]; i < w->tree.first[node + 1]; i++) {
        uint32_t child = w->tree.children[i];
        double value = value_of(w, child);
        if (value > 0 && value >= w->least && depth < TREE_DEPTH_MAX) {
            write_node(w, child, depth);
        } else if (value > 0) {
            hs_amount_add(&others, &w->totals[child]);
            others_count++;
        }
    }
    hs_json_close(w->json, ']');
    if (others_count > 0) {
        hs_json_key(w->json, "others");
        hs_json_open_inline(w->json, '{');
        hs_json_kv_uint(w->json, "functions", others_count);
        hs_report_json_amount(w->json, "total", &others);
        hs_json_close(w->json, '}');
    }
}

static int prepare(struct walker *w)
{
    enum hs_quantity quantity = hs_views[w->report->view].quantity;
    int err = hs_agg_totals(&w->agg, quantity, &w->totals);
    if (err == 0) {
        err = hs_agg_children_build(&w->agg, w->totals, w->report->view, &w->tree);
    }
    w->selves = err == 0 ? calloc(w->agg.node_count + 1u, sizeof(*w->selves)) : NULL;
    if (err == 0 && !w->selves) {
        err = -ENOMEM;
    }
    for (uint32_t i = 0; err == 0 && i < w->agg.node_count; i++) {
        hs_amount_widen(&w->selves[i], w->agg.interval_bytes);
    }
    for (uint32_t i = 0; err == 0 && i < w->agg.self_count; i++) {
        w->selves[w->agg.selves[i].node] = w->agg.selves[i].by[quantity];
    }
    return err;
}

int hs_report_json_tree_of(struct hs_report *report, struct hs_json *json, const struct hs_agg *agg,
                           const struct hs_amount *total)
{
    struct walker w = { .report = report, .json = json, .agg = *agg };
    bool is_all = report->options->top_count == HS_REPORT_ALL;
    w.least = is_all ? 0 : SHARE_MIN * hs_report_value(report, total);
    int err = prepare(&w);
    if (err == 0 && w.tree.first) {
        hs_json_key(json, "tree");
        hs_json_open(json, '{');
        hs_report_json_amount(json, "total", total);
        hs_json_key(json, "children");
        write_children(&w, w.agg.node_count, 0);
        hs_json_close(json, '}');
    }
    hs_agg_children_deinit(&w.tree);
    free(w.totals);
    free(w.selves);
    return err;
}

int hs_report_write_json_tree(struct hs_report *report, struct hs_json *json)
{
    struct hs_agg agg;
    int err = hs_agg_build(&report->selection, false, &agg);
    if (err == 0) {
        err = hs_report_json_tree_of(report, json, &agg, &report->total);
        hs_agg_deinit(&agg);
    }
    return err;
}
