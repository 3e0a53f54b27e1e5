/*
 * See svg_boxes.h.
 */
#include "view/svg_boxes.h"

#include <errno.h>
#include <stdlib.h>

#include "rt/check.h"
#include "util/array.h"

/* A quarter of a pixel in a wide window. */
#define LEAST_SHARE (1.0 / 6000)

struct builder {
    const struct hs_agg *agg;
    enum hs_view view;
    struct hs_amount *totals;
    struct hs_agg_children tree;
    double *selves; /* by node */
    struct hs_boxes out;
    size_t capacity;
    struct hs_box *todo; /* a stack, whose last box is drawn next */
    uint32_t todo_count;
    size_t todo_capacity;
};

static int push(struct hs_box **array, uint32_t *count, size_t *capacity, const struct hs_box *box)
{
    int err = hs_array_reserve(array, capacity, (size_t)*count + 1, sizeof(**array));
    if (err == 0) {
        (*array)[(*count)++] = *box;
    }
    return err;
}

/* Merges the children from `begin` on into one box. */
static struct hs_box merge(const struct builder *b, uint32_t depth, uint32_t begin, uint32_t end)
{
    struct hs_box rest = { .node = HS_BOX_MERGED, .depth = depth };
    for (uint32_t i = begin; i < end; i++) {
        const struct hs_amount *total = &b->totals[b->tree.children[i]];
        struct hs_figure figure = hs_view_figure(b->view, total);
        hs_figure_add(&rest.figure, &figure);
        rest.merged_count += figure.value > 0;
    }
    rest.width = rest.merged_count > 0 ? rest.figure.value : 0;
    return rest;
}

/* Pushes the children of a box, from the last to the first, so that the first is drawn first.
 * Differences of profiles have negative values: beside these, the values of the other children may
 * be more than their parent's, and their boxes share its width. */
static int push_children(struct builder *b, const struct hs_box *parent, uint32_t node)
{
    uint32_t first = b->tree.first[node];
    uint32_t end = b->tree.first[node + 1];
    uint32_t shown = first;
    double sum = 0;
    while (shown < end &&
           hs_view_value(b->view, &b->totals[b->tree.children[shown]]) >= b->out.least) {
        sum += hs_view_value(b->view, &b->totals[b->tree.children[shown++]]);
    }
    struct hs_box rest = merge(b, parent->depth + 1, shown, end);
    bool has_rest = rest.width > 0 && rest.width >= b->out.least;
    double all = sum + (has_rest ? rest.width : 0);
    double scale = all > parent->width ? parent->width / all : 1;
    double start = parent->start + sum * scale;
    int err = 0;
    if (has_rest) {
        rest.start = start;
        rest.width *= scale;
        err = push(&b->todo, &b->todo_count, &b->todo_capacity, &rest);
    }
    for (uint32_t i = shown; i > first && err == 0; i--) {
        uint32_t child = b->tree.children[i - 1];
        struct hs_figure figure = hs_view_figure(b->view, &b->totals[child]);
        start -= figure.value * scale;
        struct hs_box box = {
            .node = child,
            .depth = parent->depth + 1,
            .start = start,
            .width = figure.value * scale,
            .figure = figure,
            .self = b->selves[child],
        };
        err = push(&b->todo, &b->todo_count, &b->todo_capacity, &box);
    }
    return err;
}

static int draw(struct builder *b, const struct hs_amount *total, uint32_t count_max)
{
    struct hs_box root = { .node = HS_BOX_ROOT, .figure = hs_view_figure(b->view, total) };
    root.width = root.figure.value > 0 ? root.figure.value : 0;
    b->out.count = 0;
    b->out.depth_max = 0;
    b->todo_count = 0;
    int err = push(&b->todo, &b->todo_count, &b->todo_capacity, &root);
    while (b->todo_count > 0 && b->out.count <= count_max && err == 0) {
        struct hs_box box = b->todo[--b->todo_count];
        err = push(&b->out.boxes, &b->out.count, &b->capacity, &box);
        b->out.depth_max = box.depth > b->out.depth_max ? box.depth : b->out.depth_max;
        if (err == 0 && box.width > 0 && box.node != HS_BOX_MERGED &&
            box.depth < HS_SVG_DEPTH_MAX) {
            err = push_children(b, &box, box.node == HS_BOX_ROOT ? b->agg->node_count : box.node);
        }
    }
    return err;
}

static int prepare(struct builder *b)
{
    enum hs_quantity quantity = hs_views[b->view].quantity;
    b->selves = calloc(b->agg->node_count + 1u, sizeof(*b->selves));
    int err = b->selves ? hs_agg_totals(b->agg, quantity, &b->totals) : -ENOMEM;
    if (err == 0) {
        err = hs_agg_children_build(b->agg, b->totals, b->view, &b->tree);
    }
    for (uint32_t i = 0; i < b->agg->self_count && err == 0; i++) {
        const struct hs_agg_self *self = &b->agg->selves[i];
        b->selves[self->node] = hs_view_value(b->view, &self->by[quantity]);
    }
    return err;
}

int hs_boxes_build(const struct hs_agg *agg, enum hs_view view, const struct hs_amount *total,
                   uint32_t count_max, struct hs_boxes *ret_boxes)
{
    struct builder b = { .agg = agg, .view = view };
    int err = prepare(&b);
    b.out.least = hs_view_value(view, total) * LEAST_SHARE;
    if (err == 0) {
        err = draw(&b, total, count_max);
    }
    while (err == 0 && b.out.count > count_max) {
        b.out.least *= 1.5;
        err = draw(&b, total, count_max);
    }
    hs_agg_children_deinit(&b.tree);
    free(b.totals);
    free(b.selves);
    free(b.todo);
    if (err < 0) {
        hs_boxes_deinit(&b.out);
        return err;
    }
    HS_ASSERT_SLOW(hs_boxes_is_valid(&b.out));
    *ret_boxes = b.out;
    return 0;
}

void hs_boxes_deinit(struct hs_boxes *boxes)
{
    free(boxes->boxes);
    *boxes = (struct hs_boxes){ 0 };
}

#if HS_HAS_CHECKS

bool hs_boxes_is_valid(const struct hs_boxes *boxes)
{
    /* Positions are sums in another order than the parent's, so they differ by rounding. */
    static const double tolerance = 1e-9;
    double ends[HS_SVG_DEPTH_MAX + 2] = { 0 }; /* by depth, of the last box there */
    double starts[HS_SVG_DEPTH_MAX + 2] = { 0 };
    if (boxes->count == 0 || boxes->boxes[0].node != HS_BOX_ROOT || boxes->boxes[0].depth != 0) {
        return false;
    }
    double slack = boxes->boxes[0].width * tolerance;
    for (uint32_t i = 0; i < boxes->count; i++) {
        const struct hs_box *box = &boxes->boxes[i];
        uint32_t depth_most = i == 0 ? 0 : boxes->boxes[i - 1].depth + 1;
        if (box->depth > depth_most || box->depth > boxes->depth_max ||
            (i > 0 && box->depth == 0)) {
            return false;
        }
        starts[box->depth] = box->start;
        ends[box->depth] = box->start + box->width;
        if (i > 0 && (box->start < starts[box->depth - 1] - slack ||
                      ends[box->depth] > ends[box->depth - 1] + slack)) {
            return false;
        }
    }
    return true;
}

#endif
