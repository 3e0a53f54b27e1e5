/*
 * See speedscope.h. The format is that of speedscope's published JSON schema: all frames once, then
 * for each profile a list of stacks (indices of frames, outermost first) and a list of their
 * weights.
 */
#include "view/speedscope.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile/analyse/heap_sums.h"
#include "profile/model/describe.h"
#include "util/buf.h"
#include "util/json.h"
#include "view/format_interval.h"

struct writer {
    const struct hs_selection *selection;
    const struct hs_agg *agg;
    struct hs_json json;
    uint32_t *self_of; /* maps a node to its index in selves + 1; 0: the node itself allocated
                        * nothing */
    uint32_t *order;   /* indices of selves in the order of the tree */
    uint32_t order_count;
};

static void write_frames(struct writer *w)
{
    const struct hs_agg *agg = w->agg;
    const struct hs_profile *p = agg->profile;
    /*
     * Speedscope colours and groups by file. The module is more useful there than the source file.
     */
    hs_json_key(&w->json, "shared");
    hs_json_open(&w->json, '{');
    hs_json_key(&w->json, "frames");
    hs_json_open(&w->json, '[');
    for (uint32_t i = 0; i < agg->function_count; i++) {
        struct hs_buf name = HS_BUF_INIT;
        hs_agg_write_function(agg, i, &name);
        hs_json_open_inline(&w->json, '{');
        hs_json_kv_string(&w->json, "name", hs_buf_text(&name));
        if (agg->functions[i].module < p->module_count) {
            hs_json_kv_string(&w->json, "file",
                              hs_profile_string(p, p->modules[agg->functions[i].module].path));
        }
        hs_json_close(&w->json, '}');
        hs_buf_deinit(&name);
    }
    hs_json_close(&w->json, ']');
    hs_json_close(&w->json, '}');
}

/* Sorts the selves in the order in which a walk from the outermost frames reaches them. */
static int order_stacks(struct writer *w, enum hs_view view)
{
    const struct hs_agg *agg = w->agg;
    struct hs_amount *totals = NULL;
    struct hs_agg_children tree = { 0 };
    uint32_t *todo = calloc(agg->node_count + 1u, sizeof(*todo));
    int err = todo ? hs_agg_totals(agg, hs_views[view].quantity, &totals) : -ENOMEM;
    if (err == 0) {
        err = hs_agg_children_build(agg, totals, view, &tree);
    }
    w->order_count = 0;
    if (err == 0) {
        uint32_t top = agg->node_count;
        uint32_t todo_count = 0;
        for (uint32_t node = top;;) {
            for (uint32_t i = tree.first[node + 1]; i > tree.first[node]; i--) {
                if (hs_view_value(view, &totals[tree.children[i - 1]]) > 0) {
                    todo[todo_count++] = tree.children[i - 1];
                }
            }
            if (todo_count == 0) {
                break;
            }
            node = todo[--todo_count];
            uint32_t self = w->self_of[node];
            if (self > 0 &&
                hs_view_value(view, &agg->selves[self - 1].by[hs_views[view].quantity]) > 0) {
                w->order[w->order_count++] = self - 1;
            }
        }
    }
    hs_agg_children_deinit(&tree);
    free(totals);
    free(todo);
    return err;
}

static int write_path(struct writer *w, uint32_t node)
{
    uint32_t depth = w->agg->nodes[node].depth + 1;
    uint32_t *path = calloc(depth, sizeof(*path));
    if (!path) {
        return -ENOMEM;
    }
    uint32_t at = depth;
    for (uint32_t n = node; n != HS_NODE_NONE; n = w->agg->nodes[n].parent) {
        path[--at] = w->agg->nodes[n].function;
    }
    hs_json_open_inline(&w->json, '[');
    for (at = 0; at < depth; at++) {
        hs_json_uint(&w->json, path[at]);
    }
    hs_json_close(&w->json, ']');
    free(path);
    return 0;
}

static int write_profile(struct writer *w, enum hs_view view)
{
    const struct hs_view_info *info = &hs_views[view];
    const struct hs_selection *s = w->selection;
    const struct hs_amount *total = info->quantity == HS_QUANTITY_LIVE    ? &s->live
                                    : info->quantity == HS_QUANTITY_ALLOC ? &s->alloc
                                                                          : &s->peak;
    char figure[HS_FORMAT_INTERVAL_BYTES];
    struct hs_figure of_total = hs_view_figure(view, total);
    hs_format_interval(figure, info->is_count, &of_total);
    struct hs_buf heaps = HS_BUF_INIT, name = HS_BUF_INIT;
    bool is_of_several = hs_heap_sums_describe(s, &heaps) > 1;
    hs_buf_printf(&name, "%s: %s, %s%s%s", info->name, hs_view_title(view, s->is_peak_of_several),
                  figure, is_of_several ? "; " : "", hs_buf_text(&heaps));
    int err = heaps.err ? heaps.err : name.err;
    err = err ? err : order_stacks(w, view);
    double sum = 0;
    for (uint32_t i = 0; i < w->order_count && err == 0; i++) {
        sum += hs_view_value(view, &w->agg->selves[w->order[i]].by[info->quantity]);
    }
    hs_json_open(&w->json, '{');
    hs_json_kv_string(&w->json, "type", "sampled");
    hs_json_kv_string(&w->json, "name", hs_buf_text(&name));
    hs_json_kv_string(&w->json, "unit", info->is_count ? "none" : "bytes");
    hs_json_kv_uint(&w->json, "startValue", 0);
    hs_json_kv_double(&w->json, "endValue", sum);
    hs_json_key(&w->json, "samples");
    hs_json_open(&w->json, '[');
    for (uint32_t i = 0; i < w->order_count && err == 0; i++) {
        err = write_path(w, w->agg->selves[w->order[i]].node);
    }
    hs_json_close(&w->json, ']');
    hs_json_key(&w->json, "weights");
    hs_json_open_inline(&w->json, '[');
    for (uint32_t i = 0; i < w->order_count && err == 0; i++) {
        hs_json_double(&w->json,
                       hs_view_value(view, &w->agg->selves[w->order[i]].by[info->quantity]));
    }
    hs_json_close(&w->json, ']');
    hs_json_close(&w->json, '}');
    hs_buf_deinit(&heaps);
    hs_buf_deinit(&name);
    return err;
}

static int write_file(struct writer *w, enum hs_view first_view)
{
    const struct hs_profile *p = w->selection->profile;
    uint32_t process = p->dumps[w->selection->dumps[0]].process;
    int err = 0;
    hs_json_open(&w->json, '{');
    hs_json_kv_string(&w->json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    hs_json_kv_string(&w->json, "exporter", "heapscope " HS_VERSION);
    hs_json_kv_string(&w->json, "name", hs_profile_string(p, p->processes[process].name));
    hs_json_kv_uint(&w->json, "activeProfileIndex", first_view);
    write_frames(w);
    hs_json_key(&w->json, "profiles");
    hs_json_open(&w->json, '[');
    for (enum hs_view view = 0; view < HS_VIEW_N && err == 0; view++) {
        if (view != HS_VIEW_PEAK || w->selection->has_peak) {
            err = write_profile(w, view);
        }
    }
    hs_json_close(&w->json, ']');
    hs_json_close(&w->json, '}');
    return err;
}

int hs_speedscope_write(const struct hs_profile *profile, const struct hs_select_spec *select,
                        enum hs_view first_view, struct hs_buf *buf)
{
    struct hs_selection selection;
    struct hs_agg agg = { 0 };
    int err = hs_select_dumps(profile, select, &selection);
    if (err != 0) {
        return err;
    }
    struct writer w = { .selection = &selection, .agg = &agg };
    const char *reason;
    err = hs_view_choose(&selection, first_view, &first_view, &reason);
    if (err == 0) {
        err = hs_agg_build(&selection, false, &agg);
    }
    if (err == 0) {
        w.self_of = calloc(agg.node_count + 1u, sizeof(*w.self_of));
        w.order = calloc(agg.self_count + 1u, sizeof(*w.order));
        err = w.self_of && w.order ? 0 : -ENOMEM;
    }
    if (err == 0) {
        for (uint32_t i = 0; i < agg.self_count; i++) {
            w.self_of[agg.selves[i].node] = i + 1;
        }
        hs_json_init(&w.json, buf, 0);
        err = write_file(&w, first_view);
    }
    free(w.self_of);
    free(w.order);
    hs_agg_deinit(&agg);
    hs_selection_deinit(&selection);
    return err ? err : buf->err;
}
