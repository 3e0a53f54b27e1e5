/* The flame graph: views, filters, and invalid trees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rt/base.h"
#include "sql/flamegraph/flamegraph.h"

/* Nodes by number; names are single letters. */
struct tree {
    uint32_t count;
    int64_t parents[8]; /* -1: a root */
    const char *names;
    int64_t values[8];
};

struct wanted {
    char name;
    int32_t depth;
    int64_t self, cumulative, x_start, x_end;
};

struct asked {
    enum hs_flamegraph_view view;
    const char *show[3]; /* names that each pattern matches */
    const char *hide_stack, *hide_frame, *pivot;
};

static bool has(const char *names, char name)
{
    return names && strchr(names, name) != NULL;
}

static int make(const struct tree *tree, const struct asked *asked,
                struct hs_flamegraph **ret_graph)
{
    int64_t ids[8];
    bool has_parent[8];
    uint32_t parents[9], order[9], keys[8], bad = 0;
    struct hs_flamegraph_match matches[128];
    uint64_t show_all = 0;
    memset(matches, 0, sizeof(matches));
    for (uint32_t i = 0; i < tree->count; i++) {
        ids[i] = i;
        has_parent[i] = tree->parents[i] >= 0;
        keys[i] = (uint32_t)tree->names[i];
    }
    for (int c = 0; c < 128; c++) {
        for (unsigned p = 0; p < 3 && asked->show[p]; p++) {
            matches[c].show |= (uint64_t)has(asked->show[p], (char)c) << p;
            show_all |= UINT64_C(1) << p;
        }
        matches[c].is_hiding_stack = has(asked->hide_stack, (char)c);
        matches[c].is_hiding_frame = has(asked->hide_frame, (char)c);
        matches[c].is_view = has(asked->pivot, (char)c);
    }
    int err = hs_flamegraph_link(ids, tree->parents, has_parent, tree->count, parents, order, &bad);
    const int64_t *values[1] = { tree->values };
    const struct hs_flamegraph_input input = {
        .node_count = tree->count,
        .parents = parents,
        .order = order,
        .keys = keys,
        .key_count = 128,
        .matches = matches,
        .value_count = 1,
        .values = values,
        .view = asked->view,
        .show_all = show_all,
    };
    return err ? err : hs_flamegraph_make(&input, ret_graph, &bad);
}

static void check(const struct tree *tree, const struct asked *asked, const struct wanted *wanted,
                  size_t count)
{
    struct hs_flamegraph *graph = NULL;
    assert_int_equal(make(tree, asked, &graph), 0);
    assert_int_equal(graph->node_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(graph->nodes[i].key, wanted[i].name);
        assert_int_equal(graph->nodes[i].depth, wanted[i].depth);
        assert_int_equal(graph->self[i], wanted[i].self);
        assert_int_equal(graph->cumulative[i], wanted[i].cumulative);
        assert_int_equal(graph->nodes[i].x_start, wanted[i].x_start);
        assert_int_equal(graph->nodes[i].x_end, wanted[i].x_end);
    }
    hs_flamegraph_free(graph);
}

/* m: main. main(1) calls a(2) and a(3); the first a calls b(4). */
static const struct tree two_ways = { 4, { -1, 0, 0, 1 }, "maab", { 1, 2, 3, 4 } };
static const struct tree chain = { 4, { -1, 0, 1, 2 }, "mabc", { 1, 2, 4, 8 } };

static void test_top_down_merges_by_name(void **state)
{
    (void)state;
    static const struct wanted wanted[] = { { 'm', 1, 1, 10, 0, 10 },
                                            { 'a', 2, 5, 9, 0, 9 },
                                            { 'b', 3, 4, 4, 0, 4 } };
    check(&two_ways, &(struct asked){ .view = HS_FLAMEGRAPH_TOP_DOWN }, wanted, 3);
}

static void test_pivot_goes_both_ways(void **state)
{
    (void)state;
    static const struct wanted wanted[] = {
        { 'b', 1, 4, 12, 0, 12 },  { 'b', -1, 12, 12, 0, 12 }, { 'c', 2, 8, 8, 0, 8 },
        { 'a', -2, 0, 12, 0, 12 }, { 'm', -3, 0, 12, 0, 12 },
    };
    check(&chain, &(struct asked){ .view = HS_FLAMEGRAPH_PIVOT, .pivot = "b" }, wanted, 5);
}

static void test_pivot_of_a_recursion_counts_once(void **state)
{
    (void)state;
    static const struct tree tree = { 3, { -1, 0, 1 }, "mbb", { 0, 3, 4 } };
    static const struct wanted wanted[] = { { 'b', 1, 3, 7, 0, 7 },
                                            { 'b', -1, 7, 7, 0, 7 },
                                            { 'b', 2, 4, 4, 0, 4 },
                                            { 'm', -2, 0, 7, 0, 7 } };
    check(&tree, &(struct asked){ .view = HS_FLAMEGRAPH_PIVOT, .pivot = "b" }, wanted, 4);
}

static void test_bottom_up(void **state)
{
    (void)state;
    static const struct tree tree = { 3, { -1, 0, 1 }, "mab", { 1, 2, 4 } };
    static const struct wanted wanted[] = {
        { 'b', -1, 4, 4, 0, 4 }, { 'a', -1, 2, 2, 4, 6 }, { 'm', -1, 1, 1, 6, 7 },
        { 'a', -2, 0, 4, 0, 4 }, { 'm', -2, 0, 2, 4, 6 }, { 'm', -3, 0, 4, 0, 4 },
    };
    check(&tree, &(struct asked){ .view = HS_FLAMEGRAPH_BOTTOM_UP }, wanted, 6);
}

static void test_filters(void **state)
{
    (void)state;
    static const struct wanted shown[] = { { 'm', 1, 0, 4, 0, 4 },
                                           { 'a', 2, 0, 4, 0, 4 },
                                           { 'b', 3, 4, 4, 0, 4 } };
    check(&two_ways, &(struct asked){ .show = { "b", "m" } }, shown, 3);
    static const struct wanted hidden[] = { { 'm', 1, 1, 6, 0, 6 }, { 'a', 2, 5, 5, 0, 5 } };
    check(&two_ways, &(struct asked){ .hide_stack = "b" }, hidden, 2);
    static const struct wanted folded[] = { { 'm', 1, 6, 10, 0, 10 }, { 'b', 2, 4, 4, 0, 4 } };
    check(&two_ways, &(struct asked){ .hide_frame = "a" }, folded, 2);
    static const struct wanted from[] = { { 'b', 1, 4, 12, 0, 12 }, { 'c', 2, 8, 8, 0, 8 } };
    check(&chain, &(struct asked){ .view = HS_FLAMEGRAPH_FROM_FRAME, .pivot = "b" }, from, 2);
    check(&two_ways, &(struct asked){ .show = { "x" } }, NULL, 0);
}

static void test_siblings_are_by_falling_value(void **state)
{
    (void)state;
    static const struct tree tree = { 4, { -1, 0, 0, 0 }, "mabc", { 0, 2, 5, 2 } };
    static const struct wanted wanted[] = { { 'm', 1, 0, 9, 0, 9 },
                                            { 'b', 2, 5, 5, 0, 5 },
                                            { 'a', 2, 2, 2, 5, 7 },
                                            { 'c', 2, 2, 2, 7, 9 } };
    check(&tree, &(struct asked){ .view = HS_FLAMEGRAPH_TOP_DOWN }, wanted, 4);
}

static void test_parents_may_come_later(void **state)
{
    (void)state;
    static const struct tree tree = { 3, { 1, 2, -1 }, "bam", { 4, 2, 1 } };
    static const struct wanted wanted[] = { { 'm', 1, 1, 7, 0, 7 },
                                            { 'a', 2, 2, 6, 0, 6 },
                                            { 'b', 3, 4, 4, 0, 4 } };
    check(&tree, &(struct asked){ .view = HS_FLAMEGRAPH_TOP_DOWN }, wanted, 3);
}

static void test_hostile_trees_are_errors(void **state)
{
    (void)state;
    struct hs_flamegraph *graph = NULL;
    static const struct {
        struct tree tree;
        int error;
    } cases[] = {
        { { 3, { 2, 0, 1 }, "abc", { 1, 1, 1 } }, HS_FLAMEGRAPH_E_CYCLE },
        { { 1, { 0 }, "a", { 1 } }, HS_FLAMEGRAPH_E_CYCLE },
        { { 2, { -1, 7 }, "ab", { 1, 1 } }, HS_FLAMEGRAPH_E_ORPHAN },
        { { 2, { -1, 0 }, "ab", { 1, -1 } }, HS_FLAMEGRAPH_E_NEGATIVE },
        { { 2, { -1, 0 }, "ab", { INT64_MAX, 1 } }, HS_FLAMEGRAPH_E_OVERFLOW },
        { { 2, { -1, -1 }, "ab", { INT64_MAX, 1 } }, HS_FLAMEGRAPH_E_OVERFLOW },
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        assert_int_equal(
            make(&cases[i].tree, &(struct asked){ .view = HS_FLAMEGRAPH_TOP_DOWN }, &graph),
            cases[i].error);
        assert_null(graph);
    }
    static const int64_t ids[] = { 5, 5 }, no_parents[] = { 0, 0 };
    static const bool none[] = { false, false };
    uint32_t parents[2], order[2], bad = 0;
    assert_int_equal(hs_flamegraph_link(ids, no_parents, none, 2, parents, order, &bad),
                     HS_FLAMEGRAPH_E_DUPLICATE);
    assert_int_equal(bad, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_top_down_merges_by_name),
        cmocka_unit_test(test_pivot_goes_both_ways),
        cmocka_unit_test(test_pivot_of_a_recursion_counts_once),
        cmocka_unit_test(test_bottom_up),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_siblings_are_by_falling_value),
        cmocka_unit_test(test_parents_may_come_later),
        cmocka_unit_test(test_hostile_trees_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
