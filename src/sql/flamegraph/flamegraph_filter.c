/*
 * Applies the filters to the tree of a flame graph.
 *
 * A stack matches a stack filter also by a frame above the view's frame. A frame that is hidden
 * counts only for the filters that come before the one that hides it, because the match of its key
 * does not contain the others.
 */
#include <errno.h>
#include <stdlib.h>

#include "sql/flamegraph/flamegraph_state.h"

/* The state of the path from the root to a node. */
struct path {
    uint64_t show;
    bool is_hidden; /* HIDE_STACK matched a frame of the path */
    bool is_inside; /* the node is at or below the view's frame */
};

static int add(int64_t *sum, int64_t value)
{
    return __builtin_add_overflow(*sum, value, sum) ? HS_FLAMEGRAPH_E_OVERFLOW : 0;
}

static bool has_view_frame(const struct hs_flamegraph_input *input)
{
    return input->view == HS_FLAMEGRAPH_PIVOT || input->view == HS_FLAMEGRAPH_FROM_FRAME;
}

static int allocate(const struct hs_flamegraph_input *input, struct hs_flamegraph_rest *rest)
{
    size_t count = input->node_count + (size_t)1, cells = count * input->value_count;
    rest->callers = calloc(count, sizeof(uint32_t));
    rest->self = calloc(cells, sizeof(int64_t));
    rest->sums = calloc(cells, sizeof(int64_t));
    rest->is_shown = calloc(count, sizeof(bool));
    rest->is_root = calloc(count, sizeof(bool));
    rest->is_folded = calloc(count, sizeof(bool));
    rest->first_child = calloc(count + 1, sizeof(uint32_t));
    rest->children = calloc(count, sizeof(uint32_t));
    return rest->callers && rest->self && rest->sums && rest->is_shown && rest->is_root &&
                   rest->is_folded && rest->first_child && rest->children
               ? 0
               : -ENOMEM;
}

void hs_flamegraph_rest_deinit(struct hs_flamegraph_rest *rest)
{
    free(rest->callers);
    free(rest->self);
    free(rest->sums);
    free(rest->is_shown);
    free(rest->is_root);
    free(rest->is_folded);
    free(rest->first_child);
    free(rest->children);
}

/* Adds a node's own values to the node that shows them: the node itself, or its nearest caller that
 * is shown. */
static int place_values(const struct hs_flamegraph_input *input, struct hs_flamegraph_rest *rest,
                        uint32_t node)
{
    uint32_t owner = rest->is_shown[node] ? node : rest->callers[node];
    int err = 0;
    for (size_t v = 0; v < input->value_count && err == 0; v++) {
        int64_t value = input->values[v][node];
        err = v == 0 && value < 0 ? HS_FLAMEGRAPH_E_NEGATIVE : 0;
        /* The values of a hidden frame that has no shown caller are dropped. */
        if (err == 0 && owner != HS_FLAMEGRAPH_NONE) {
            err = add(&rest->self[owner * input->value_count + v], value);
        }
    }
    return err;
}

static int visit(const struct hs_flamegraph_input *input, struct hs_flamegraph_rest *rest,
                 struct path *paths, uint32_t node)
{
    const struct hs_flamegraph_match *match = &input->matches[input->keys[node]];
    uint32_t parent = input->parents[node];
    struct path path = { 0 };
    uint32_t caller = HS_FLAMEGRAPH_NONE;
    if (parent != HS_FLAMEGRAPH_NONE) {
        path = paths[parent];
        caller = rest->is_shown[parent] ? parent : rest->callers[parent];
    }
    bool was_inside = path.is_inside;
    path.show |= match->show;
    path.is_hidden = path.is_hidden || match->is_hiding_stack;
    path.is_inside =
        was_inside || !has_view_frame(input) || (match->is_view && !match->is_hiding_frame);
    paths[node] = path;
    /* A pivot shows the callers of its frame, upwards; a view from a frame does not. */
    bool is_view_above = input->view == HS_FLAMEGRAPH_PIVOT;
    rest->is_shown[node] = !match->is_hiding_frame && (path.is_inside || is_view_above);
    rest->callers[node] = caller;
    rest->is_root[node] = rest->is_shown[node] && path.is_inside &&
                          (has_view_frame(input) ? !was_inside : caller == HS_FLAMEGRAPH_NONE);
    rest->is_folded[node] =
        match->is_hiding_frame && caller != HS_FLAMEGRAPH_NONE && !path.is_hidden;
    bool is_kept =
        path.is_inside && !path.is_hidden && (path.show & input->show_all) == input->show_all;
    return is_kept ? place_values(input, rest, node) : 0;
}

static int sum_up(const struct hs_flamegraph_input *input, struct hs_flamegraph_rest *rest,
                  uint32_t *ret_bad_node)
{
    size_t width = input->value_count;
    for (uint32_t i = input->node_count; i-- > 0;) {
        uint32_t node = input->order[i], caller = rest->callers[node];
        if (!rest->is_shown[node]) {
            continue;
        }
        for (size_t v = 0; v < width; v++) {
            int err = add(&rest->sums[node * width + v], rest->self[node * width + v]);
            if (err == 0 && caller != HS_FLAMEGRAPH_NONE) {
                err = add(&rest->sums[caller * width + v], rest->sums[node * width + v]);
            }
            if (err != 0) {
                *ret_bad_node = node;
                return err;
            }
        }
    }
    return 0;
}

static bool has_caller(const struct hs_flamegraph_rest *rest, uint32_t node)
{
    return rest->is_shown[node] && rest->callers[node] != HS_FLAMEGRAPH_NONE;
}

static void list_children(const struct hs_flamegraph_input *input, struct hs_flamegraph_rest *rest)
{
    uint32_t *first = rest->first_child, count = input->node_count;
    for (uint32_t n = 0; n < count; n++) {
        if (has_caller(rest, n)) {
            first[rest->callers[n] + 1]++;
        }
    }
    for (uint32_t n = 0; n < count; n++) {
        first[n + 1] += first[n];
    }
    first[count + 1] = first[count];
    /* Filling from the back makes the end of c's list, first[c + 1], its start. */
    for (uint32_t n = count; n-- > 0;) {
        if (has_caller(rest, n)) {
            rest->children[--first[rest->callers[n] + 1]] = n;
        }
    }
}

int hs_flamegraph_filter(const struct hs_flamegraph_input *input, struct hs_flamegraph_rest *rest,
                         uint32_t *ret_bad_node)
{
    struct path *paths = calloc(input->node_count + (size_t)1, sizeof(*paths));
    int err = paths ? allocate(input, rest) : -ENOMEM;
    for (uint32_t i = 0; i < input->node_count && err == 0; i++) {
        err = visit(input, rest, paths, input->order[i]);
        *ret_bad_node = input->order[i];
    }
    free(paths);
    err = err ? err : sum_up(input, rest, ret_bad_node);
    if (err == 0) {
        list_children(input, rest);
    }
    return err;
}
