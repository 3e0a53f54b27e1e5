/* Grows a flame graph: the roots, then level by level the nodes that they lead to. */
#include "sql/flamegraph/flamegraph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/check.h"
#include "sql/flamegraph/flamegraph_state.h"
#include "util/array.h"

/* The input nodes of the next level and their values. Nodes with one key become a node of the
 * graph. */
struct steps {
    uint32_t *nodes;
    /* [step * value_count + value]: including everything below, or everything that reached this
     * node from above */
    int64_t *amounts;
    size_t count, capacity, amount_capacity;
};

struct group {
    uint32_t key, entry_count;
    /* entries placed so far; before that, the order in which the groups were first seen */
    uint32_t fill;
    int64_t first_value;
};

struct growth {
    const struct hs_flamegraph_input *input;
    struct hs_flamegraph_rest rest;
    struct hs_flamegraph *graph;
    size_t width; /* number of values */
    size_t node_capacity, self_capacity, cumulative_capacity;
    size_t entry_count, entry_capacity, amount_capacity;
    int64_t *amounts; /* values of the entries */
    struct steps steps;
    struct group *groups;
    size_t group_count, group_capacity;
    /* [key]: index of the group, valid if < group_count and if the group's key is this one */
    uint32_t *group_of_key;
    uint32_t *step_of_node; /* [input node]: index of the step, valid under the same conditions */
};

static int add_step(struct growth *g, uint32_t node, const int64_t *amounts, bool is_meeting)
{
    struct steps *steps = &g->steps;
    uint32_t seen = g->step_of_node[node];
    if (is_meeting && seen < steps->count && steps->nodes[seen] == node) {
        for (size_t v = 0; v < g->width; v++) {
            int64_t *sum = &steps->amounts[seen * g->width + v];
            if (__builtin_add_overflow(*sum, amounts[v], sum)) {
                return HS_FLAMEGRAPH_E_OVERFLOW;
            }
        }
        return 0;
    }
    bool is_nothing = true;
    for (size_t v = 0; v < g->width; v++) {
        is_nothing = is_nothing && amounts[v] == 0;
    }
    if (is_nothing) {
        return 0;
    }
    int err = hs_array_reserve(&steps->nodes, &steps->capacity, steps->count + 1,
                               sizeof(steps->nodes[0]));
    err = err ? err
              : hs_array_reserve(&steps->amounts, &steps->amount_capacity,
                                 (steps->count + 1) * g->width, sizeof(steps->amounts[0]));
    if (err == 0) {
        g->step_of_node[node] = (uint32_t)steps->count;
        memcpy(&steps->amounts[steps->count * g->width], amounts, g->width * sizeof(amounts[0]));
        steps->nodes[steps->count++] = node;
    }
    return err;
}

static struct group *group_of(struct growth *g, uint32_t key)
{
    uint32_t seen = g->group_of_key[key];
    if (seen < g->group_count && g->groups[seen].key == key) {
        return &g->groups[seen];
    }
    if (hs_array_reserve(&g->groups, &g->group_capacity, g->group_count + 1, sizeof(g->groups[0])) <
        0) {
        return NULL;
    }
    g->group_of_key[key] = (uint32_t)g->group_count;
    g->groups[g->group_count] = (struct group){ .key = key, .fill = (uint32_t)g->group_count };
    return &g->groups[g->group_count++];
}

static int compare_groups(const void *a_, const void *b_)
{
    const struct group *a = a_, *b = b_;
    if (a->first_value != b->first_value) {
        return a->first_value > b->first_value ? -1 : 1;
    }
    return a->fill < b->fill ? -1 : 1;
}

/* Groups the steps by key, largest group first. */
static int make_groups(struct growth *g)
{
    g->group_count = 0;
    for (size_t i = 0; i < g->steps.count; i++) {
        struct group *group = group_of(g, g->input->keys[g->steps.nodes[i]]);
        if (!group) {
            return -ENOMEM;
        }
        group->entry_count++;
        if (__builtin_add_overflow(group->first_value, g->steps.amounts[i * g->width],
                                   &group->first_value)) {
            return HS_FLAMEGRAPH_E_OVERFLOW;
        }
    }
    if (g->group_count > 1) {
        qsort(g->groups, g->group_count, sizeof(g->groups[0]), compare_groups);
    }
    for (uint32_t i = 0; i < g->group_count; i++) {
        g->group_of_key[g->groups[i].key] = i;
    }
    return 0;
}

static int reserve_nodes(struct growth *g)
{
    struct hs_flamegraph *graph = g->graph;
    size_t nodes = graph->node_count + g->group_count, cells = nodes * g->width;
    size_t entries = g->entry_count + g->steps.count;
    if (nodes >= HS_FLAMEGRAPH_NODES_MAX || entries > HS_FLAMEGRAPH_ENTRIES_MAX) {
        return -E2BIG;
    }
    int err = hs_array_reserve(&graph->nodes, &g->node_capacity, nodes, sizeof(graph->nodes[0]));
    err = err ? err : hs_array_reserve(&graph->self, &g->self_capacity, cells, sizeof(int64_t));
    err =
        err ? err
            : hs_array_reserve(&graph->cumulative, &g->cumulative_capacity, cells, sizeof(int64_t));
    err = err ? err
              : hs_array_reserve(&graph->entries, &g->entry_capacity, entries, sizeof(uint32_t));
    return err ? err
               : hs_array_reserve(&g->amounts, &g->amount_capacity, entries * g->width,
                                  sizeof(int64_t));
}

/* Adds a step to the values and the entries of a node. */
static int add_amounts(struct growth *g, uint32_t node, size_t step, int32_t depth)
{
    const uint32_t input_node = g->steps.nodes[step];
    for (size_t v = 0; v < g->width; v++) {
        int64_t amount = g->steps.amounts[step * g->width + v];
        int64_t own = depth > 0     ? g->rest.self[input_node * g->width + v]
                      : depth == -1 ? amount
                                    : 0;
        if (__builtin_add_overflow(g->graph->cumulative[node * g->width + v], amount,
                                   &g->graph->cumulative[node * g->width + v]) ||
            __builtin_add_overflow(g->graph->self[node * g->width + v], own,
                                   &g->graph->self[node * g->width + v])) {
            return HS_FLAMEGRAPH_E_OVERFLOW;
        }
    }
    return 0;
}

/* Makes the nodes of the groups. */
static int make_nodes(struct growth *g, uint32_t parent, int32_t depth)
{
    int err = make_groups(g);
    err = err ? err : reserve_nodes(g);
    if (err != 0) {
        return err;
    }
    struct hs_flamegraph *graph = g->graph;
    uint32_t first_node = graph->node_count;
    int64_t x = parent == HS_FLAMEGRAPH_NONE ? 0 : graph->nodes[parent].x_start;
    for (size_t i = 0; i < g->group_count; i++) {
        struct group *group = &g->groups[i];
        graph->nodes[graph->node_count++] = (struct hs_flamegraph_node){
            .parent = parent,
            .key = group->key,
            .depth = depth,
            .first_entry = (uint32_t)g->entry_count,
            .entry_count = group->entry_count,
            .x_start = x,
        };
        if (__builtin_add_overflow(x, group->first_value, &x)) {
            return HS_FLAMEGRAPH_E_OVERFLOW;
        }
        graph->nodes[graph->node_count - 1].x_end = x;
        group->fill = 0;
        g->entry_count += group->entry_count;
        memset(&graph->self[(first_node + i) * g->width], 0, g->width * sizeof(int64_t));
        memset(&graph->cumulative[(first_node + i) * g->width], 0, g->width * sizeof(int64_t));
    }
    for (size_t i = 0; i < g->steps.count && err == 0; i++) {
        uint32_t group = g->group_of_key[g->input->keys[g->steps.nodes[i]]];
        uint32_t node = first_node + group;
        size_t entry = graph->nodes[node].first_entry + g->groups[group].fill++;
        graph->entries[entry] = g->steps.nodes[i];
        memcpy(&g->amounts[entry * g->width], &g->steps.amounts[i * g->width],
               g->width * sizeof(int64_t));
        err = add_amounts(g, node, i, depth);
    }
    return err;
}

static int grow_down(struct growth *g, const struct hs_flamegraph_node *node)
{
    int err = 0;
    for (uint32_t e = 0; e < node->entry_count && err == 0; e++) {
        uint32_t from = g->graph->entries[node->first_entry + e];
        uint32_t end = g->rest.first_child[from + 2];
        for (uint32_t c = g->rest.first_child[from + 1]; c < end && err == 0; c++) {
            uint32_t child = g->rest.children[c];
            err = add_step(g, child, &g->rest.sums[child * g->width], false);
        }
    }
    return err;
}

static int grow_up(struct growth *g, const struct hs_flamegraph_node *node)
{
    int err = 0;
    for (uint32_t e = 0; e < node->entry_count && err == 0; e++) {
        size_t entry = node->first_entry + e;
        uint32_t caller = g->rest.callers[g->graph->entries[entry]];
        if (caller != HS_FLAMEGRAPH_NONE) {
            err = add_step(g, caller, &g->amounts[entry * g->width], true);
        }
    }
    return err;
}

/* Makes the roots of both halves, then all nodes below them: the nodes serve as their own queue. */
static int grow(struct growth *g)
{
    const struct hs_flamegraph_input *input = g->input;
    int err = 0;
    bool is_bottom_up = input->view == HS_FLAMEGRAPH_BOTTOM_UP;
    for (uint32_t n = 0; n < input->node_count && err == 0; n++) {
        const int64_t *amounts = is_bottom_up ? g->rest.self : g->rest.sums;
        if (is_bottom_up ? g->rest.is_shown[n] : g->rest.is_root[n]) {
            err = add_step(g, n, &amounts[n * g->width], false);
        }
    }
    err = err ? err : make_nodes(g, HS_FLAMEGRAPH_NONE, is_bottom_up ? -1 : 1);
    if (err == 0 && input->view == HS_FLAMEGRAPH_PIVOT) {
        err = make_nodes(g, HS_FLAMEGRAPH_NONE, -1);
    }
    for (size_t v = 0; v < g->width && err == 0; v++) {
        for (uint32_t n = 0; n < input->node_count; n++) {
            g->graph->total[v] += (double)input->values[v][n];
        }
    }
    for (uint32_t i = 0; i < g->graph->node_count && err == 0; i++) {
        const struct hs_flamegraph_node node = g->graph->nodes[i];
        g->steps.count = 0;
        err = node.depth > 0 ? grow_down(g, &node) : grow_up(g, &node);
        if (err == 0 && g->steps.count > 0) {
            err = make_nodes(g, i, node.depth + (node.depth > 0 ? 1 : -1));
        }
    }
    return err;
}

/* Lists hidden nodes by the node that has their values: those of n are ret_nodes[ret_first[n] ..
 * ret_first[n + 1]). */
static uint32_t list_folded(const struct growth *g, uint32_t *ret_first, uint32_t *ret_nodes)
{
    uint32_t count = g->input->node_count;
    for (uint32_t n = 0; n < count; n++) {
        if (g->rest.is_folded[n]) {
            ret_first[g->rest.callers[n]]++;
        }
    }
    for (uint32_t n = 0, sum = 0; n <= count; n++) {
        sum += ret_first[n];
        ret_first[n] = sum; /* the end of the list; filling from the back makes it the start */
    }
    for (uint32_t n = count; n-- > 0;) {
        if (g->rest.is_folded[n]) {
            ret_nodes[--ret_first[g->rest.callers[n]]] = n;
        }
    }
    return ret_first[count];
}

/* Lists all input rows of each node, which the aggregates use. */
static int make_rows(struct growth *g)
{
    struct hs_flamegraph *graph = g->graph;
    uint32_t count = g->input->node_count;
    uint32_t *first = calloc(count + (size_t)1, sizeof(uint32_t));
    uint32_t *folded = calloc(count + (size_t)1, sizeof(uint32_t));
    size_t row_count = 0, capacity = 0;
    int err = first && folded ? 0 : -ENOMEM;
    bool is_any = err == 0 && list_folded(g, first, folded) > 0;
    for (uint32_t i = 0; i < graph->node_count && err == 0; i++) {
        struct hs_flamegraph_node *node = &graph->nodes[i];
        node->first_row = is_any ? (uint32_t)row_count : node->first_entry;
        node->row_count = node->entry_count;
        for (uint32_t e = 0; is_any && e < node->entry_count && err == 0; e++) {
            uint32_t entry = graph->entries[node->first_entry + e];
            size_t add = first[entry + 1] - first[entry];
            err = row_count + add >= HS_FLAMEGRAPH_ENTRIES_MAX
                      ? -E2BIG
                      : hs_array_reserve(&graph->rows, &capacity, row_count + add + 1,
                                         sizeof(uint32_t));
            if (err == 0) {
                graph->rows[row_count++] = entry;
                memcpy(&graph->rows[row_count], &folded[first[entry]], add * sizeof(uint32_t));
                row_count += add;
            }
        }
        node->row_count = is_any ? (uint32_t)row_count - node->first_row : node->row_count;
    }
    free(first);
    free(folded);
    return err;
}

int hs_flamegraph_make(const struct hs_flamegraph_input *input, struct hs_flamegraph **ret_graph,
                       uint32_t *ret_bad_node)
{
    struct growth g = { .input = input, .width = input->value_count };
    *ret_bad_node = 0;
    g.graph = calloc(1, sizeof(*g.graph));
    g.group_of_key = calloc(input->key_count + (size_t)1, sizeof(uint32_t));
    g.step_of_node = calloc(input->node_count + (size_t)1, sizeof(uint32_t));
    int err = g.graph && g.group_of_key && g.step_of_node ? 0 : -ENOMEM;
    if (err == 0) {
        g.graph->value_count = g.width;
        err = hs_flamegraph_filter(input, &g.rest, ret_bad_node);
    }
    err = err ? err : grow(&g);
    err = err ? err : make_rows(&g);
    HS_ASSERT_SLOW(err != 0 || hs_flamegraph_is_valid(g.graph));
    hs_flamegraph_rest_deinit(&g.rest);
    free(g.group_of_key);
    free(g.step_of_node);
    free(g.groups);
    free(g.steps.nodes);
    free(g.steps.amounts);
    free(g.amounts);
    if (err != 0) {
        g.graph = hs_flamegraph_free(g.graph);
        return err;
    }
    *ret_graph = g.graph;
    return 0;
}

struct hs_flamegraph *hs_flamegraph_free(struct hs_flamegraph *graph)
{
    if (graph) {
        free(graph->nodes);
        free(graph->entries);
        free(graph->rows);
        free(graph->self);
        free(graph->cumulative);
        free(graph);
    }
    return NULL;
}

#if HS_HAS_CHECKS

bool hs_flamegraph_is_valid(const struct hs_flamegraph *graph)
{
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct hs_flamegraph_node *node = &graph->nodes[i];
        bool is_root = node->parent == HS_FLAMEGRAPH_NONE;
        if (!is_root && node->parent >= i) {
            return false;
        }
        int32_t depth = is_root ? 0 : graph->nodes[node->parent].depth;
        if (node->depth == 0 || node->depth != depth + (node->depth > 0 ? 1 : -1)) {
            return false;
        }
        bool has_older_sibling = i > 0 && graph->nodes[i - 1].parent == node->parent &&
                                 graph->nodes[i - 1].depth == node->depth;
        if (has_older_sibling && graph->cumulative[(i - 1) * graph->value_count] <
                                     graph->cumulative[i * graph->value_count]) {
            return false;
        }
    }
    return true;
}

#endif
