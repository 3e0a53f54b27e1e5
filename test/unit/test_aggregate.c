/*
 * aggregate.h, select.h and frame_class.h on profiles whose every sum is known.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture_profile.h"
#include "profile/analyse/aggregate.h"
#include "profile/model/frame_class.h"
#include "rt/base.h"
#include "util/buf.h"

static struct hs_amount amount(double bytes, double count)
{
    return (struct hs_amount){ .bytes = bytes,
                               .count = count,
                               .bytes_var = bytes * 10,
                               .count_var = count * 10,
                               .sampled_bytes = bytes / 2,
                               .sampled_count = count / 4 };
}

static struct hs_selection select_all(const struct hs_profile *p)
{
    struct hs_selection selection;
    const struct hs_select_spec spec = { .snapshot = HS_SELECT_LAST };
    assert_int_equal(hs_select_dumps(p, &spec, &selection), 0);
    return selection;
}

static const char *name_of(const struct hs_agg *agg, uint32_t function)
{
    static char text[128];
    struct hs_buf buf = HS_BUF_INIT;
    hs_agg_write_function(agg, function, &buf);
    strncpy(text, hs_buf_text(&buf), sizeof(text) - 1);
    hs_buf_deinit(&buf);
    return text;
}

static const struct hs_agg_row *row_of(const struct hs_agg *agg, const struct hs_agg_row *rows,
                                       uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(name_of(agg, rows[i].function), name) == 0) {
            return &rows[i];
        }
    }
    fail_msg("no row %s", name);
    return NULL;
}

static void check_row(const struct hs_agg *agg, const struct hs_agg_row *rows, uint32_t count,
                      const char *name, double self, double total)
{
    const struct hs_agg_row *row = row_of(agg, rows, count, name);
    if (row->self.bytes != self || row->total.bytes != total) {
        fail_msg("%s: self %g total %g, not %g %g", name, row->self.bytes, row->total.bytes, self,
                 total);
    }
    assert_true(row->total.bytes_var == total * 10);
}

/*
 * main -> load -> parse              40 (twenty of them through operator new)
 *      -> fib -> fib -> fib          30, and fib -> fib 7: recursion
 *      -> init                       10
 */
static void build_sample(struct fixture *fx)
{
    *fx = fixture_new();
    uint32_t main_ = fixture_call(fx, HS_NODE_NONE, "main");
    uint32_t load = fixture_call(fx, main_, "load");
    uint32_t parse = fixture_call(fx, load, "parse");
    uint32_t new_ = fixture_call(fx, parse, "operator new(unsigned long)");
    uint32_t fib1 = fixture_call(fx, main_, "fib");
    uint32_t fib2 = fixture_call(fx, fib1, "fib");
    uint32_t fib3 = fixture_call(fx, fib2, "fib");
    uint32_t init = fixture_call(fx, main_, "init");
    fixture_process(fx, 100, "prog");
    fixture_dump(fx, 5);
    fixture_sample(fx, parse, amount(20, 2), amount(200, 4), amount(0, 0));
    fixture_sample(fx, new_, amount(20, 1), amount(100, 9), amount(500, 5));
    fixture_sample(fx, fib2, amount(7, 1), amount(7, 1), amount(7, 1));
    fixture_sample(fx, fib3, amount(30, 3), amount(30, 3), amount(0, 0));
    fixture_sample(fx, init, amount(10, 1), amount(10, 1), amount(10, 1));
}

static void functions_count_recursion_once(void **state)
{
    (void)state;
    struct fixture fx;
    build_sample(&fx);
    struct hs_selection selection = select_all(&fx.p);
    struct hs_agg agg;
    assert_int_equal(hs_agg_build(&selection, true, &agg), 0);
    struct hs_agg_row *rows;
    uint32_t count;
    assert_int_equal(hs_agg_functions(&agg, HS_QUANTITY_LIVE, &rows, &count), 0);
    assert_int_equal(count, 6);
    check_row(&agg, rows, count, "main", 0, 87);
    check_row(&agg, rows, count, "load", 0, 40);
    check_row(&agg, rows, count, "parse", 40, 40);
    check_row(&agg, rows, count, "operator new(unsigned long)", 0, 20);
    check_row(&agg, rows, count, "fib", 37, 37);
    check_row(&agg, rows, count, "init", 10, 10);

    hs_agg_sort_functions(rows, count, HS_VIEW_SPACE, HS_AGG_BY_SELF);
    assert_string_equal(name_of(&agg, rows[0].function), "parse");
    assert_string_equal(name_of(&agg, rows[1].function), "fib");
    assert_string_equal(name_of(&agg, rows[2].function), "init");
    hs_agg_sort_functions(rows, count, HS_VIEW_OBJECTS, HS_AGG_BY_SELF);
    assert_string_equal(name_of(&agg, rows[0].function), "fib"); /* 4 objects against 3 */
    hs_agg_sort_functions(rows, count, HS_VIEW_SPACE, HS_AGG_BY_TOTAL);
    assert_string_equal(name_of(&agg, rows[0].function), "main");
    free(rows);

    /* Two stacks had nothing at the peak, so their functions have no row. */
    assert_int_equal(hs_agg_functions(&agg, HS_QUANTITY_PEAK, &rows, &count), 0);
    check_row(&agg, rows, count, "parse", 500, 500);
    check_row(&agg, rows, count, "fib", 7, 7);
    check_row(&agg, rows, count, "main", 0, 517);
    free(rows);
    hs_agg_deinit(&agg);
    hs_selection_deinit(&selection);
    fixture_deinit(&fx);
}

static void tree_totals_and_children(void **state)
{
    (void)state;
    struct fixture fx;
    build_sample(&fx);
    struct hs_selection selection = select_all(&fx.p);
    struct hs_agg agg;
    assert_int_equal(hs_agg_build(&selection, false, &agg), 0);
    assert_int_equal(agg.node_count, 8);
    struct hs_amount *totals;
    struct hs_agg_children tree;
    assert_int_equal(hs_agg_totals(&agg, HS_QUANTITY_LIVE, &totals), 0);
    assert_int_equal(hs_agg_children_build(&agg, totals, HS_VIEW_SPACE, &tree), 0);
    uint32_t top = agg.node_count;
    assert_int_equal(tree.first[top + 1] - tree.first[top], 1);
    uint32_t main_ = tree.children[tree.first[top]];
    assert_true(totals[main_].bytes == 87);
    assert_true(totals[main_].bytes_var == 870);
    assert_true(totals[main_].sampled_bytes == 87 / 2.0);
    const double want[] = { 40, 37, 10 };
    assert_int_equal(tree.first[main_ + 1] - tree.first[main_], HS_COUNT_OF(want));
    for (uint32_t i = 0; i < HS_COUNT_OF(want); i++) {
        assert_true(totals[tree.children[tree.first[main_] + i]].bytes == want[i]);
    }
    hs_agg_children_deinit(&tree);
    free(totals);

    uint32_t *order;
    uint32_t count;
    assert_int_equal(hs_agg_sorted_stacks(&agg, HS_VIEW_PEAK, &order, &count), 0);
    assert_int_equal(count, 3);
    assert_true(agg.selves[order[0]].by[HS_QUANTITY_PEAK].bytes == 500);
    /* operator new allocated, but the stack is named after parse. */
    uint32_t headline = hs_agg_headline(&agg, agg.selves[order[0]].node);
    assert_string_equal(name_of(&agg, agg.nodes[headline].function), "parse");
    free(order);
    hs_agg_deinit(&agg);
    hs_selection_deinit(&selection);
    fixture_deinit(&fx);
}

static void inlined_lines_are_frames(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    const char *inlined[] = { "innermost", "middle", "outer" };
    uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
    uint32_t leaf = fixture_node(&fx, main_, fixture_frame(&fx, inlined, 3));
    uint32_t outer = fixture_call(&fx, main_, "outer"); /* the same function without inlining */
    uint32_t below = fixture_call(&fx, outer, "other");
    fixture_process(&fx, 1, "p");
    fixture_dump(&fx, 1);
    fixture_sample(&fx, leaf, amount(1, 1), amount(1, 1), amount(1, 1));
    fixture_sample(&fx, below, amount(2, 1), amount(2, 1), amount(2, 1));
    struct hs_selection selection = select_all(&fx.p);
    struct hs_agg agg;
    assert_int_equal(hs_agg_build(&selection, false, &agg), 0);
    assert_int_equal(agg.node_count, 5); /* main, outer, middle, innermost, other: "outer" exists
                                          * once */
    struct hs_agg_row *rows;
    uint32_t count;
    assert_int_equal(hs_agg_functions(&agg, HS_QUANTITY_LIVE, &rows, &count), 0);
    check_row(&agg, rows, count, "innermost", 1, 1);
    check_row(&agg, rows, count, "middle", 0, 1);
    check_row(&agg, rows, count, "outer", 0, 3);
    check_row(&agg, rows, count, "main", 0, 3);
    free(rows);
    hs_agg_deinit(&agg);
    hs_selection_deinit(&selection);
    fixture_deinit(&fx);
}

static void lines_part_stacks_only_when_asked(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
    uint32_t a = fixture_call(&fx, main_, "load");
    fx.line = 2;
    uint32_t b = fixture_call(&fx, main_, "load");
    fx.line = 0;
    uint32_t c = fixture_node(&fx, main_, fixture_frame(&fx, NULL, 0)); /* no symbols */
    uint32_t d = fixture_node(&fx, main_, fixture_frame(&fx, NULL, 0));
    fixture_process(&fx, 1, "p");
    fixture_dump(&fx, 1);
    uint32_t nodes[] = { a, b, c, d };
    for (size_t i = 0; i < HS_COUNT_OF(nodes); i++) {
        fixture_sample(&fx, nodes[i], amount(1, 1), amount(1, 1), amount(1, 1));
    }
    struct hs_selection selection = select_all(&fx.p);
    struct hs_agg agg;
    assert_int_equal(hs_agg_build(&selection, false, &agg), 0);
    assert_int_equal(agg.self_count, 3); /* load, and two addresses */
    assert_true(agg.selves[0].by[HS_QUANTITY_LIVE].bytes == 2);
    assert_string_equal(name_of(&agg, agg.nodes[agg.selves[1].node].function), "prog+0x1030");
    hs_agg_deinit(&agg);
    assert_int_equal(hs_agg_build(&selection, true, &agg), 0);
    assert_int_equal(agg.self_count, 4);
    hs_agg_deinit(&agg);
    hs_selection_deinit(&selection);
    fixture_deinit(&fx);
}

static void selection_by_process_and_snapshot(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
    for (uint32_t pid = 10; pid < 13; pid++) {
        fixture_process(&fx, pid, "p");
        for (uint32_t dump = 0; dump < pid - 9; dump++) {
            fixture_dump(&fx, 1 + dump);
            fixture_sample(&fx, main_, amount(pid + dump * 100, 1), amount(1000, 1), amount(1, 1));
        }
    }
    fixture_process(&fx, 99, "never dumped");
    struct hs_selection selection = select_all(&fx.p);
    assert_int_equal(selection.dump_count, 3);
    assert_true(selection.live.bytes == 10 + 111 + 212);
    assert_true(selection.is_peak_of_several);
    assert_true(selection.is_sampled);
    assert_int_equal(selection.end_ns - selection.start_ns, UINT64_C(3000000000));
    struct hs_agg agg;
    assert_int_equal(hs_agg_build(&selection, true, &agg), 0);
    assert_int_equal(agg.self_count, 1); /* merged over processes */
    assert_true(agg.selves[0].by[HS_QUANTITY_LIVE].bytes == 333);
    assert_true(agg.selves[0].by[HS_QUANTITY_ALLOC].bytes == 3000);
    hs_agg_deinit(&agg);
    hs_selection_deinit(&selection);

    const struct {
        struct hs_select_spec spec;
        int result;
        uint32_t dump_count;
        double live_bytes;
    } cases[] = {
        { { .pid = 11, .snapshot = HS_SELECT_LAST }, 0, 1, 111 },
        { { .pid = 12, .snapshot = 0 }, 0, 1, 12 },
        { { .snapshot = 1 }, 0, 2, 111 + 112 },
        { { .snapshot = 3 }, HS_SELECT_E_NO_SNAPSHOT, 0, 0 },
        { { .pid = 10, .snapshot = 1 }, HS_SELECT_E_NO_SNAPSHOT, 0, 0 },
        { { .pid = 7, .snapshot = HS_SELECT_LAST }, HS_SELECT_E_NO_PID, 0, 0 },
        { { .pid = 99, .snapshot = HS_SELECT_LAST }, HS_SELECT_E_NO_PID, 0, 0 },
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        int result = hs_select_dumps(&fx.p, &cases[i].spec, &selection);
        assert_int_equal(result, cases[i].result);
        if (result == 0) {
            assert_int_equal(selection.dump_count, cases[i].dump_count);
            assert_true(selection.live.bytes == cases[i].live_bytes);
            hs_selection_deinit(&selection);
        }
    }
    assert_int_equal(hs_select_dump_count_max(&fx.p), 3);
    fixture_deinit(&fx);

    fx = fixture_new();
    fixture_process(&fx, 1, "p");
    assert_int_equal(hs_select_dumps(&fx.p, &cases[3].spec, &selection), HS_SELECT_E_EMPTY);
    fixture_deinit(&fx);
}

static void classes(void **state)
{
    (void)state;
    const struct {
        const char *name, *module;
        enum hs_frame_class want;
    } cases[] = {
        { "main", "/usr/bin/prog", HS_FRAME_CLASS_USER },
        { "", "/usr/bin/prog", HS_FRAME_CLASS_USER },
        { "", "/lib/x86_64-linux-gnu/libc.so.6", HS_FRAME_CLASS_LIBRARY },
        { "fopen64", "/lib/x86_64-linux-gnu/libc.so.6", HS_FRAME_CLASS_LIBRARY },
        { "operator new(unsigned long)", "libstdc++.so.6", HS_FRAME_CLASS_ALLOCATOR },
        { "operator new[](unsigned long)", "prog", HS_FRAME_CLASS_ALLOCATOR },
        { "xmalloc", "git", HS_FRAME_CLASS_ALLOCATOR },
        { "xmalloc_fatal", "git", HS_FRAME_CLASS_ALLOCATOR },
        { "sqlite3DbMallocRawNN", "x", HS_FRAME_CLASS_ALLOCATOR },
        { "std::__new_allocator<int>::allocate(unsigned long, void const*)", "prog",
          HS_FRAME_CLASS_ALLOCATOR },
        { "std::vector<int>::_M_realloc_insert<int>(int*)", "prog", HS_FRAME_CLASS_LIBRARY },
        { "void std::vector<int>::push_back(int)", "prog", HS_FRAME_CLASS_LIBRARY },
        { "Pool::allocate(int)", "prog", HS_FRAME_CLASS_USER },
        { "heapscope::pool::allocate(unsigned long, unsigned long)", "prog",
          HS_FRAME_CLASS_ALLOCATOR },
        { "particle* heapscope::pool::create<particle>()", "prog", HS_FRAME_CLASS_ALLOCATOR },
        { "heapscope_weak_heapscope_report_alloc", "prog", HS_FRAME_CLASS_ALLOCATOR },
        { "heapscope_report_alloc", "prog", HS_FRAME_CLASS_ALLOCATOR },
        { "get_memory", "/usr/lib/libheapscope.so", HS_FRAME_CLASS_ALLOCATOR },
        { "get_memory", "prog", HS_FRAME_CLASS_USER },
        { "my_heapscope::f()", "prog", HS_FRAME_CLASS_USER },
        { "standard::f()", "prog", HS_FRAME_CLASS_USER },
        { "<alloc::vec::Vec<T> as core::clone::Clone>::clone", "prog", HS_FRAME_CLASS_LIBRARY },
        { "alloc::raw_vec::finish_grow", "prog", HS_FRAME_CLASS_ALLOCATOR },
        { "_start", "prog", HS_FRAME_CLASS_START },
        { "__libc_start_main@@GLIBC_2.34", "libc.so.6", HS_FRAME_CLASS_START },
        { "__libc_start_call_main", "libc.so.6", HS_FRAME_CLASS_START },
        { "[stack cut]", "", HS_FRAME_CLASS_MARKER },
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        enum hs_frame_class got = hs_frame_class_of(cases[i].name, cases[i].module);
        if (got != cases[i].want) {
            fail_msg("%s: class %d, not %d", cases[i].name, (int)got, (int)cases[i].want);
        }
    }
}

static void view_fits_the_profile(void **state)
{
    (void)state;
    const char *reason;
    enum hs_view view;
    struct hs_selection s = { .has_peak = true, .live = { .bytes = 20 }, .peak = { .bytes = 100 } };
    assert_int_equal(hs_view_choose(&s, HS_VIEW_AUTO, &view, &reason), 0);
    assert_int_equal(view, HS_VIEW_SPACE);
    assert_null(reason);
    s.live.bytes = 19;
    assert_int_equal(hs_view_choose(&s, HS_VIEW_AUTO, &view, &reason), 0);
    assert_int_equal(view, HS_VIEW_PEAK);
    assert_non_null(reason);
    assert_int_equal(hs_view_choose(&s, HS_VIEW_OBJECTS, &view, &reason), 0);
    assert_int_equal(view, HS_VIEW_OBJECTS);
    s.has_peak = false;
    s.alloc.bytes = 1000;
    assert_int_equal(hs_view_choose(&s, HS_VIEW_AUTO, &view, &reason), 0);
    assert_int_equal(view, HS_VIEW_ALLOC_SPACE);
    assert_int_equal(hs_view_choose(&s, HS_VIEW_PEAK, &view, &reason), HS_SELECT_E_NO_PEAK);
    s = (struct hs_selection){ 0 };
    assert_int_equal(hs_view_choose(&s, HS_VIEW_AUTO, &view, &reason), 0);
    assert_int_equal(view, HS_VIEW_SPACE);
}

static void add_relative(struct fixture *fx, uint32_t node, uint32_t pid, uint32_t parent_pid,
                         double var, double inherited_var)
{
    struct hs_profile *p = &fx->p;
    fixture_process(fx, pid, "server");
    p->processes[p->process_count - 1].forked_from_pid = parent_pid;
    p->processes[p->process_count - 1].start_ns += pid;
    struct hs_profile_dump *dump = fixture_dump(fx, 1);
    dump->is_inherited_known = inherited_var >= 0;
    if (dump->is_inherited_known) {
        dump->inherited = (struct hs_inherited_var){ (float)inherited_var, (float)inherited_var };
    }
    struct hs_amount amount = fixture_sampled(10000, 10, var, var);
    fixture_sample(fx, node, amount, amount, amount);
    p->samples[p->sample_count - 1].inherited = p->dumps[p->dump_count - 1].inherited;
}

/*
 * Blocks that related processes share have one common error, so its variance counts for each pair.
 * Unrelated processes share none.
 */
static void errors_of_families(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    uint32_t node = fixture_call(&fx, HS_NODE_NONE, "main");
    add_relative(&fx, node, 100, 0, 100, 0);
    add_relative(&fx, node, 101, 100, 90, 60);
    add_relative(&fx, node, 102, 101, 50, 70); /* inherited 70, of which 50 are left */
    add_relative(&fx, node, 103, 100, 30, -1); /* from an older file, which does not say: perhaps
                                                * all of it is shared */
    add_relative(&fx, node, 104, 100, 500, 0); /* it inherited nothing that was sampled */
    add_relative(&fx, node, 105, 104, 40, 20); /* shared with 104 only */
    add_relative(&fx, node, 200, 0, 1000, 0);  /* an unrelated process */
    add_relative(&fx, node, 300, 299, 7, 5);   /* two children of a process that is not in the
                                                * profile */
    add_relative(&fx, node, 301, 299, 8, 6);
    const double alone = 100 + 90 + 50 + 30 + 500 + 40 + 1000 + 7 + 8;
    const double want = alone + 2 * 60 + 4 * 50 + 6 * 30 + 2 * 20 + 2 * 6;
    struct hs_selection selection = select_all(&fx.p);
    struct hs_agg agg;
    assert_int_equal(hs_agg_build(&selection, false, &agg), 0);
    /* Processes 100 to 105 may all have blocks that no sample hit. */
    assert_int_equal(selection.sample_most_bytes, 6 * 4096);
    assert_true(selection.live.interval_bytes == 6 * 4096);
    assert_true(agg.selves[0].by[HS_QUANTITY_LIVE].interval_bytes == 6 * 4096);
    const struct hs_amount *sums[] = { &selection.live, &selection.alloc, &selection.peak,
                                       &agg.selves[0].by[HS_QUANTITY_LIVE] };
    for (size_t i = 0; i < HS_COUNT_OF(sums); i++) {
        assert_true(fabs(sums[i]->bytes_var - want) < 1e-6);
        assert_true(fabs(sums[i]->count_var - want) < 1e-6);
        assert_true(fabs(sums[i]->bytes - 90000) < 1e-6);
    }
    hs_agg_deinit(&agg);
    hs_selection_deinit(&selection);
    /* A single process has only its own error. */
    const struct hs_select_spec one = { .pid = 102, .snapshot = HS_SELECT_LAST };
    assert_int_equal(hs_select_dumps(&fx.p, &one, &selection), 0);
    assert_true(fabs(selection.live.bytes_var - 50) < 1e-6);
    assert_int_equal(selection.sample_most_bytes, 4096);
    hs_selection_deinit(&selection);
    fixture_deinit(&fx);
}

/*
 * One stack in many heaps: 64 heaps are kept separate, the others are summed in one, and nothing is
 * lost.
 */
static void heaps_stand_apart(void **state)
{
    enum { HEAPS = 80 };
    (void)state;
    struct fixture fx = fixture_new(); /* its heap 0 is libc.malloc */
    uint32_t node = fixture_call(&fx, HS_NODE_NONE, "main");
    fixture_process(&fx, 100, "prog");
    fixture_dump(&fx, 1);
    for (uint32_t i = 0; i < HEAPS; i++) {
        char name[24];
        snprintf(name, sizeof(name), "heap %u", i);
        if (i > 0) {
            fx.p.heaps = fixture_grow(fx.p.heaps, fx.p.heap_count, sizeof(*fx.p.heaps));
            fx.p.heaps[fx.p.heap_count++] = fixture_string(&fx, name);
        }
        struct hs_amount size = fixture_exact(i + 1, 1);
        fixture_sample(&fx, node, size, size, size);
        fx.p.samples[i].heap = i;
    }
    struct hs_selection selection = select_all(&fx.p);
    struct hs_agg agg;
    assert_int_equal(hs_agg_build(&selection, false, &agg), 0);
    assert_int_equal(agg.self_count, 1 + 63 + 1);
    double sum = 0;
    for (uint32_t i = 0; i < agg.self_count; i++) {
        struct hs_buf name = HS_BUF_INIT;
        uint32_t root = agg.nodes[agg.selves[i].node].parent;
        assert_true((root == HS_NODE_NONE) == (i == 0));
        if (i > 0) {
            char want[32];
            snprintf(want, sizeof(want), "[heap heap %u]", i);
            hs_agg_write_function(&agg, agg.nodes[root].function, &name);
            assert_string_equal(hs_buf_text(&name), i < 64 ? want : "[other heaps]");
        }
        sum += agg.selves[i].by[HS_QUANTITY_LIVE].bytes;
        hs_buf_deinit(&name);
    }
    assert_true(fabs(sum - HEAPS * (HEAPS + 1) / 2.0) < 1e-6);
    hs_agg_deinit(&agg);
    hs_selection_deinit(&selection);
    fixture_deinit(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_count_recursion_once),
        cmocka_unit_test(tree_totals_and_children),
        cmocka_unit_test(inlined_lines_are_frames),
        cmocka_unit_test(lines_part_stacks_only_when_asked),
        cmocka_unit_test(selection_by_process_and_snapshot),
        cmocka_unit_test(view_fits_the_profile),
        cmocka_unit_test(classes),
        cmocka_unit_test(errors_of_families),
        cmocka_unit_test(heaps_stand_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
