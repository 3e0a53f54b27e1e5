/*
 * folded.h, speedscope.h, svg.h and svg_boxes.h: exact output of small profiles, names that would
 * break the format, and limits on size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture_profile.h"
#include "util/buf.h"
#include "view/folded.h"
#include "view/speedscope.h"
#include "view/svg.h"
#include "view/svg_boxes.h"

static const struct hs_select_spec last = { .snapshot = HS_SELECT_LAST };

/* main -> a -> b 30, main -> a 10, main -> c 60; and a stack whose blocks were all freed. */
static struct fixture sample_profile(void)
{
    struct fixture fx = fixture_new();
    uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
    uint32_t a = fixture_call(&fx, main_, "a;x\ny");
    uint32_t b = fixture_call(&fx, a, "b<\"&'>");
    uint32_t c = fixture_call(&fx, main_, "c");
    uint32_t d = fixture_call(&fx, c, "d");
    fixture_process(&fx, 5, "prog");
    fixture_dump(&fx, 3)->has_peak = false;
    struct hs_amount none = fixture_exact(0, 0);
    fixture_sample(&fx, a, fixture_exact(10, 1), fixture_exact(10, 1), none);
    fixture_sample(&fx, b, fixture_exact(30, 3), fixture_exact(30, 3), none);
    fixture_sample(&fx, c, fixture_exact(60, 2), fixture_exact(60, 2), none);
    fixture_sample(&fx, d, none, fixture_exact(100, 1), none);
    return fx;
}

static void folded(void **state)
{
    (void)state;
    struct fixture fx = sample_profile();
    struct hs_buf buf = HS_BUF_INIT;
    assert_int_equal(hs_folded_write(&fx.p, &last, HS_VIEW_AUTO, &buf), 0);
    assert_string_equal(hs_buf_text(&buf), "main;a:x y 10\n"
                                           "main;a:x y;b<\"&'> 30\n"
                                           "main;c 60\n");
    buf.bytes = 0;
    assert_int_equal(hs_folded_write(&fx.p, &last, HS_VIEW_ALLOC_OBJECTS, &buf), 0);
    assert_string_equal(hs_buf_text(&buf), "main;a:x y 1\n"
                                           "main;a:x y;b<\"&'> 3\n"
                                           "main;c 2\n"
                                           "main;c;d 1\n");
    assert_int_equal(hs_folded_write(&fx.p, &last, HS_VIEW_PEAK, &buf), HS_SELECT_E_NO_PEAK);
    hs_buf_deinit(&buf);
    fixture_deinit(&fx);
}

static void speedscope(void **state)
{
    (void)state;
    struct fixture fx = sample_profile();
    struct hs_buf buf = HS_BUF_INIT;
    fx.p.dumps[0].interval_bytes = 1;
    assert_int_equal(hs_speedscope_write(&fx.p, &last, HS_VIEW_AUTO, &buf), 0);
    const char *text = hs_buf_text(&buf);
    /* Stacks in the order of the tree, the largest branch first. */
    assert_non_null(strstr(text, "{\"type\":\"sampled\",\"name\":\"space: live memory, 100 B\","
                                 "\"unit\":\"bytes\",\"startValue\":0,\"endValue\":100,"
                                 "\"samples\":[[0,3],[0,1],[0,1,2]],\"weights\":[60,10,30]}"));
    assert_non_null(strstr(text, "\"unit\":\"none\",\"startValue\":0,\"endValue\":7,"
                                 "\"samples\":[[0,1],[0,1,2],[0,3],[0,3,4]],"
                                 "\"weights\":[1,3,2,1]}"));
    assert_non_null(strstr(text, "{\"name\":\"b<\\\"&'>\",\"file\":\"/usr/bin/prog\"}"));
    hs_buf_deinit(&buf);
    fixture_deinit(&fx);
}

static void svg_is_well_formed(void **state)
{
    (void)state;
    struct fixture fx = sample_profile();
    uint32_t node = fixture_call(&fx, 0, "]]><script>\x01\xff");
    fx.p.dumps[0].interval_bytes = 1;
    fixture_sample(&fx, node, fixture_exact(100, 1), fixture_exact(100, 1), fixture_exact(0, 0));
    struct hs_buf buf = HS_BUF_INIT;
    assert_int_equal(hs_svg_write(&fx.p, &last, HS_VIEW_SPACE, &buf), 0);
    const char *text = hs_buf_text(&buf);
    assert_non_null(strstr(text, "<title>prog (pid 5): live memory, 200 B</title>"));
    assert_non_null(strstr(text, "<title>b&lt;&quot;&amp;&#39;&gt;  [prog]\n30 B, 15.0 %</title>"));
    assert_non_null(strstr(text, "<title>a;x\xEF\xBF\xBDy  [prog]\n40 B, 20.0 %\n10 B of it itself"
                                 "</title>"));
    assert_non_null(strstr(text, "]]&gt;&lt;script&gt;\xEF\xBF\xBD\xEF\xBF\xBD"));
    /* Only the style and the script are sections that end this way. */
    int ends = 0;
    for (const char *at = text; (at = strstr(at, "]]>")); at++) {
        ends++;
    }
    assert_int_equal(ends, 2);
    assert_null(strstr(text, "http://www.w3.org/1999/xlink"));
    hs_buf_deinit(&buf);
    fixture_deinit(&fx);
}

static struct hs_boxes build_boxes(struct fixture *fx, uint32_t count_max, double total_bytes)
{
    struct hs_selection selection;
    struct hs_agg agg;
    struct hs_boxes boxes;
    assert_int_equal(hs_select_dumps(&fx->p, &last, &selection), 0);
    assert_int_equal(hs_agg_build(&selection, false, &agg), 0);
    struct hs_amount total = { .bytes = total_bytes };
    assert_int_equal(hs_boxes_build(&agg, HS_VIEW_SPACE, &total, count_max, &boxes), 0);
    hs_agg_deinit(&agg);
    hs_selection_deinit(&selection);
    return boxes;
}

static void boxes_lie_within_their_parents(void **state)
{
    (void)state;
    struct fixture fx = sample_profile();
    struct hs_boxes boxes = build_boxes(&fx, 100, 120); /* twenty were lost */
    const double want[][4] = {
        /* depth, start, value, self */
        { 0, 0, 120, 0 }, { 1, 0, 100, 0 }, { 2, 0, 60, 60 }, { 2, 60, 40, 10 }, { 3, 60, 30, 30 },
    };
    assert_int_equal(boxes.count, 5);
    for (uint32_t i = 0; i < boxes.count; i++) {
        assert_int_equal(boxes.boxes[i].depth, want[i][0]);
        assert_true(boxes.boxes[i].start == want[i][1]);
        assert_true(boxes.boxes[i].figure.value == want[i][2]);
        assert_true(boxes.boxes[i].self == want[i][3]);
    }
    hs_boxes_deinit(&boxes);
    fixture_deinit(&fx);
}

static void small_boxes_are_merged(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
    fixture_process(&fx, 5, "prog");
    fixture_dump(&fx, 1);
    char name[32];
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        uint32_t node = fixture_call(&fx, main_, name);
        fixture_sample(&fx, node, fixture_exact(i < 3 ? 1000 : 1, 1), fixture_exact(1, 1),
                       fixture_exact(1, 1));
    }
    struct hs_boxes boxes = build_boxes(&fx, 20000, 7997);
    assert_int_equal(boxes.count, 6); /* the root, main, three functions, and the rest as one */
    const struct hs_box *rest = &boxes.boxes[5];
    assert_int_equal(rest->node, HS_BOX_MERGED);
    assert_int_equal(rest->merged_count, 4997);
    assert_true(rest->start == 3000);
    assert_true(rest->figure.value == 4997);
    hs_boxes_deinit(&boxes);

    boxes = build_boxes(&fx, 4, 7997); /* the limit raises the least value */
    assert_true(boxes.count <= 4);
    assert_true(boxes.least > 1000);
    hs_boxes_deinit(&boxes);
    fixture_deinit(&fx);
}

static void made_up_depth_is_cut(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    uint32_t node = HS_NODE_NONE;
    for (int i = 0; i < 50000; i++) {
        node = fixture_call(&fx, node, "deep");
    }
    fixture_process(&fx, 5, "prog");
    fixture_dump(&fx, 1);
    fixture_sample(&fx, node, fixture_exact(9, 1), fixture_exact(9, 1), fixture_exact(9, 1));
    struct hs_boxes boxes = build_boxes(&fx, HS_SVG_BOXES_MAX, 9);
    assert_int_equal(boxes.depth_max, HS_SVG_DEPTH_MAX);
    hs_boxes_deinit(&boxes);
    fixture_deinit(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folded),
        cmocka_unit_test(speedscope),
        cmocka_unit_test(svg_is_well_formed),
        cmocka_unit_test(boxes_lie_within_their_parents),
        cmocka_unit_test(small_boxes_are_merged),
        cmocka_unit_test(made_up_depth_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
