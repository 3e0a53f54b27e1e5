/* diff.h: functions matched across builds, sums, and which differences are noise. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture_profile.h"
#include "profile/analyse/diff.h"
#include "rt/base.h"

static const struct hs_amount none;

static void sample(struct fixture *fx, uint32_t node, struct hs_amount live)
{
    fixture_sample(fx, node, live, live, live);
}

/* An amount of `hits` samples of small blocks at an interval of 4096. */
static struct hs_amount hits_of(double hits)
{
    double bytes = hits * 4096;
    return fixture_sampled(bytes, bytes / 64, bytes * 4096, bytes / 64 * 63);
}

static struct fixture program(const char *exe)
{
    struct fixture fx = fixture_new();
    fixture_process(&fx, 100, "prog");
    fx.p.processes[0].exe = fixture_string(&fx, exe);
    fixture_module(&fx, exe, 0x10000);
    fixture_dump(&fx, 1);
    return fx;
}

static struct hs_selection select_last(const struct hs_profile *p)
{
    struct hs_selection selection;
    const struct hs_select_spec spec = { .snapshot = HS_SELECT_LAST };
    assert_int_equal(hs_select_dumps(p, &spec, &selection), 0);
    return selection;
}

static struct hs_diff diff_of(struct fixture *before, struct fixture *after, enum hs_view view)
{
    struct hs_diff diff;
    struct hs_selection x = select_last(&before->p), y = select_last(&after->p);
    assert_int_equal(hs_diff_build(&x, &y, view, &diff), 0);
    hs_selection_deinit(&x);
    hs_selection_deinit(&y);
    return diff;
}

static struct hs_diff_change change_of(const struct hs_diff *diff, const char *name, bool is_total)
{
    for (uint32_t i = 0; i < diff->function_count; i++) {
        if (strcmp(hs_diff_name(diff, i), name) == 0) {
            return hs_diff_change_of(diff, is_total ? &diff->functions[i].total
                                                    : &diff->functions[i].self);
        }
    }
    fail_msg("no function %s", name);
    return (struct hs_diff_change){ 0 };
}

static void check(const struct hs_diff *diff, const char *name, double before, double after,
                  enum hs_diff_verdict verdict)
{
    struct hs_diff_change change = change_of(diff, name, false);
    if (change.before != before || change.after != after || change.verdict != verdict) {
        fail_msg("%s: %g -> %g %s", name, change.before, change.after,
                 hs_diff_verdict_names[change.verdict]);
    }
}

/*
 * Two builds: another file, other addresses, another order, moved lines, a clone made by the
 * optimizer.
 */
static void test_two_builds(void **state)
{
    (void)state;
    struct fixture a = program("/build1/prog-v1"), b = program("/build2/prog-v2");
    a.p.dumps[0].interval_bytes = b.p.dumps[0].interval_bytes = 1;
    uint32_t main_ = fixture_call(&a, HS_NODE_NONE, "main");
    sample(&a, fixture_call(&a, main_, "grower"), fixture_exact(1000, 10));
    sample(&a, fixture_call(&a, main_, "shrinker"), fixture_exact(500, 5));
    sample(&a, fixture_call(&a, main_, "steady"), fixture_exact(70, 7));
    sample(&a, fixture_call(&a, main_, "old"), fixture_exact(30, 3));
    b.line = 900;
    main_ = fixture_call(&b, HS_NODE_NONE, "main");
    sample(&b, fixture_call(&b, main_, "fresh"), fixture_exact(40, 4));
    sample(&b, fixture_call(&b, main_, "steady.constprop.0"), fixture_exact(70, 7));
    sample(&b, fixture_call(&b, main_, "shrinker"), fixture_exact(499, 5));
    sample(&b, fixture_call(&b, main_, "grower"), fixture_exact(1001, 10));
    struct hs_diff diff = diff_of(&a, &b, HS_VIEW_SPACE);
    assert_int_equal(diff.function_count, 6);
    check(&diff, "grower", 1000, 1001, HS_DIFF_GREW);
    check(&diff, "shrinker", 500, 499, HS_DIFF_SHRANK);
    check(&diff, "steady", 70, 70, HS_DIFF_SAME);
    check(&diff, "old", 30, 0, HS_DIFF_GONE);
    check(&diff, "fresh", 0, 40, HS_DIFF_NEW);
    struct hs_diff_change total = change_of(&diff, "main", true);
    assert_true(total.before == 1600 && total.after == 1610 && total.low == 10);
    assert_true(diff.total.by[HS_DIFF_AFTER].bytes == 1610);
    hs_diff_deinit(&diff);
    fixture_deinit(&a);
    fixture_deinit(&b);
}

static void test_libraries(void **state)
{
    static const struct {
        const char *before, *after;
        bool is_same;
    } rows[] = {
        { "/usr/lib/libz.so.1.2.13", "/opt/lib/libz.so.1.3", true },
        { "/usr/lib/libz-1.2.so", "/usr/lib/libz-1.3.so", true },
        { "/usr/lib/libz.so", "/usr/lib/libq.so", false },
        { "/usr/lib/lib-9p.so", "/usr/lib/lib-8p.so", false },
        { "/usr/bin/tool", "/usr/bin/tool2", false },
    };
    (void)state;
    for (size_t i = 0; i < HS_COUNT_OF(rows); i++) {
        struct fixture a = program("/bin/prog"), b = program("/bin/prog");
        fixture_module(&a, rows[i].before, 0x20000);
        fixture_module(&b, rows[i].after, 0x90000);
        sample(&a, fixture_call(&a, HS_NODE_NONE, "inflate"), fixture_exact(10, 1));
        sample(&b, fixture_call(&b, HS_NODE_NONE, "inflate"), fixture_exact(10, 1));
        struct hs_diff diff = diff_of(&a, &b, HS_VIEW_OBJECTS);
        if (diff.function_count != (rows[i].is_same ? 1 : 2)) {
            fail_msg("%s and %s", rows[i].before, rows[i].after);
        }
        hs_diff_deinit(&diff);
        fixture_deinit(&a);
        fixture_deinit(&b);
    }
}

/*
 * A recursive function counts once per stack in its total; its self counts only the frame that
 * allocated.
 */
static void test_recursion(void **state)
{
    (void)state;
    struct fixture a = program("/bin/prog"), b = program("/bin/prog");
    uint32_t fib = fixture_call(&a, HS_NODE_NONE, "fib");
    fib = fixture_call(&a, fib, "fib");
    sample(&a, fixture_call(&a, fib, "fib"), fixture_exact(30, 1));
    sample(&b, fixture_call(&b, HS_NODE_NONE, "fib"), fixture_exact(12, 1));
    struct hs_diff diff = diff_of(&a, &b, HS_VIEW_SPACE);
    struct hs_diff_change change = change_of(&diff, "fib", true);
    assert_true(change.before == 30 && change.after == 12);
    assert_true(diff.stacks.by[HS_DIFF_BEFORE].bytes == 30);
    hs_diff_deinit(&diff);
    fixture_deinit(&a);
    fixture_deinit(&b);
}

/*
 * Large blocks are exact, but small ones beside them are not: a difference that few samples explain
 * is noise.
 */
static void test_exact_blocks_among_samples(void **state)
{
    (void)state;
    static const struct {
        double before, after;
        enum hs_diff_verdict verdict;
    } rows[] = {
        { 1 << 20, (1 << 20) + 1, HS_DIFF_NOISE },
        { 1 << 20, (1 << 20) + 15000, HS_DIFF_NOISE },
        { 1 << 20, (1 << 20) + 30000, HS_DIFF_GREW },
        { 1 << 20, (1 << 20) - 30000, HS_DIFF_SHRANK },
        { 0, 8192, HS_DIFF_NOISE },
        { 1 << 20, 1 << 20, HS_DIFF_SAME },
    };
    for (size_t i = 0; i < HS_COUNT_OF(rows); i++) {
        struct fixture a = program("/bin/prog"), b = program("/bin/prog");
        sample(&a, fixture_call(&a, HS_NODE_NONE, "f"), fixture_exact(rows[i].before, 10));
        sample(&b, fixture_call(&b, HS_NODE_NONE, "f"), fixture_exact(rows[i].after, 10));
        struct hs_diff diff = diff_of(&a, &b, HS_VIEW_SPACE);
        check(&diff, "f", rows[i].before, rows[i].after, rows[i].verdict);
        struct hs_diff_change change = change_of(&diff, "f", false);
        assert_true(change.low < change.delta - 15000 && change.high > change.delta + 15000);
        hs_diff_deinit(&diff);
        fixture_deinit(&a);
        fixture_deinit(&b);
    }
}

/*
 * k samples against none: with the same heap on both sides, each sample falls on either side with
 * probability 1/2. All of five fall on one side in 6 % of such rows, all of six in 3 %. Five
 * samples are therefore noise. For object counts, samples of 64 bytes are no change until they
 * stand for more objects than the other side may have had as unseen one-byte blocks.
 */
static void test_few_samples(void **state)
{
    (void)state;
    static const double counts[] = { 1, 2, 3, 4, 5, 6, 7, 8, 200, 400 };
    for (size_t i = 0; i < HS_COUNT_OF(counts); i++) {
        double hits = counts[i];
        struct fixture a = program("/bin/prog"), b = program("/bin/prog");
        sample(&a, fixture_call(&a, HS_NODE_NONE, "f"), hits_of(hits));
        sample(&b, fixture_call(&b, HS_NODE_NONE, "f"), none);
        for (int view = 0; view < 2; view++) {
            bool is_change = hits >= (view ? 400 : 6);
            struct hs_diff diff = diff_of(&a, &b, view ? HS_VIEW_OBJECTS : HS_VIEW_SPACE);
            struct hs_diff_change change = change_of(&diff, "f", false);
            assert_int_equal(change.verdict, is_change ? HS_DIFF_GONE : HS_DIFF_NOISE);
            hs_diff_deinit(&diff);
            diff = diff_of(&b, &a, view ? HS_VIEW_OBJECTS : HS_VIEW_SPACE);
            change = change_of(&diff, "f", false);
            assert_int_equal(change.verdict, is_change ? HS_DIFF_NEW : HS_DIFF_NOISE);
            hs_diff_deinit(&diff);
        }
        fixture_deinit(&a);
        fixture_deinit(&b);
    }
}

static double random_unit(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return ((double)(*seed >> 11) + 0.5) / 9007199254740992.0;
}

static double poisson(uint64_t *seed, double mean)
{
    double at = 0, count = -1;
    while (at < mean) {
        at -= log(random_unit(seed));
        count++;
    }
    return count;
}

/* Of pairs that differ only by chance, at most 5 % may be reported as changes. */
static void test_false_alarms(void **state)
{
    static const double means[] = { 1, 3, 10, 40, 200, 2000 };
    (void)state;
    uint64_t seed = 12345;
    for (size_t m = 0; m < HS_COUNT_OF(means); m++) {
        const int rounds = 4000;
        int alarms = 0;
        for (int i = 0; i < rounds; i++) {
            struct hs_diff diff = { .view = HS_VIEW_SPACE, .interval_bytes = { 4096, 4096 } };
            struct hs_diff_amounts amounts = { { hits_of(poisson(&seed, means[m])),
                                                 hits_of(poisson(&seed, means[m])) } };
            struct hs_diff_change change = hs_diff_change_of(&diff, &amounts);
            alarms += change.verdict != HS_DIFF_NOISE && change.verdict != HS_DIFF_SAME;
        }
        /* 5 % of 4000 are 200, give or take 14. */
        if (alarms > 200 + 3 * 14) {
            fail_msg("mean %g: %d of %d", means[m], alarms, rounds);
        }
        if (means[m] >= 200 && alarms < 200 - 4 * 14) {
            fail_msg("mean %g: only %d of %d: the interval is too wide", means[m], alarms, rounds);
        }
    }
}

/* Samples of `objects` blocks of one size. */
static void draw(uint64_t *seed, double size_bytes, double objects, struct hs_amount *amount)
{
    double chance = -expm1(-size_bytes / 4096), each = 1 / chance;
    double found = 0, more = 0;
    for (int i = 0; objects <= 100 && i < (int)objects; i++) {
        double hits = poisson(seed, size_bytes / 4096);
        found += hits > 0;
        more += hits > 0 ? hits - 1 : 0;
    }
    if (objects > 100) {
        found = poisson(seed, objects * chance);
        more = poisson(seed, objects * (size_bytes / 4096 - chance));
    }
    struct hs_amount samples =
        fixture_sampled((found + more) * 4096, found * each, (found + more) * 4096 * 4096,
                        found * each * (each - 1));
    hs_amount_add(amount, &samples);
}

/*
 * The same heap twice, of small and large blocks: in 95 % neither its bytes nor its objects are
 * reported as changed.
 */
static void test_mixed_sizes(void **state)
{
    static const struct {
        double size_bytes[3], objects[3];
    } heaps[] = {
        { { 3000, 1 }, { 20, 2000 } },
        { { 24, 700, 4000 }, { 300, 40, 20 } },
        { { 1, 8, 64 }, { 1000, 4000, 9000 } },
        { { 1, 100 }, { 8000, 20000 } },
        { { 20 }, { 100 } },
    };
    const int rounds = 2000;
    uint64_t seed = 99;
    (void)state;
    for (size_t h = 0; h < HS_COUNT_OF(heaps); h++) {
        int alarms[2] = { 0 };
        for (int i = 0; i < rounds; i++) {
            struct hs_diff_amounts amounts = { 0 };
            for (int k = 0; k < 3 * HS_DIFF_SIDE_N && heaps[h].objects[k / 2] > 0; k++) {
                draw(&seed, heaps[h].size_bytes[k / 2], heaps[h].objects[k / 2],
                     &amounts.by[k % 2]);
            }
            for (int view = 0; view < 2; view++) {
                struct hs_diff diff = { .view = view ? HS_VIEW_OBJECTS : HS_VIEW_SPACE,
                                        .interval_bytes = { 4096, 4096 } };
                struct hs_diff_change change = hs_diff_change_of(&diff, &amounts);
                alarms[view] += change.verdict != HS_DIFF_NOISE && change.verdict != HS_DIFF_SAME;
            }
        }
        /* 5 % of 2000 are 100, give or take 10. */
        if (alarms[0] > 130 || alarms[1] > 130) {
            fail_msg("heap %zu: bytes %d, objects %d of %d", h, alarms[0], alarms[1], rounds);
        }
    }
}

/* Real changes are found: 10 MiB that became 12, and one and a half times as many objects. */
static void test_real_changes(void **state)
{
    (void)state;
    uint64_t seed = 7;
    int found[2] = { 0 };
    for (int i = 0; i < 200; i++) {
        struct hs_diff_amounts amounts = { 0 };
        draw(&seed, 100, 104858, &amounts.by[HS_DIFF_BEFORE]);
        draw(&seed, 100, 125829, &amounts.by[HS_DIFF_AFTER]);
        struct hs_diff diff = { .view = HS_VIEW_SPACE, .interval_bytes = { 4096, 4096 } };
        found[0] += hs_diff_change_of(&diff, &amounts).verdict == HS_DIFF_GREW;
        draw(&seed, 100, 31458, &amounts.by[HS_DIFF_AFTER]);
        diff.view = HS_VIEW_OBJECTS;
        found[1] += hs_diff_change_of(&diff, &amounts).verdict == HS_DIFF_GREW;
    }
    assert_true(found[0] >= 198 && found[1] >= 198);
}

/*
 * For one process, allocations after the first snapshot are an estimate of their own: the first
 * half adds nothing to the margin.
 */
static void test_cumulative(void **state)
{
    (void)state;
    struct fixture fx = program("/bin/prog");
    uint32_t f = fixture_call(&fx, HS_NODE_NONE, "f");
    sample(&fx, f, hits_of(10000));
    fixture_dump(&fx, 2);
    sample(&fx, f, hits_of(10100));
    struct hs_selection x, y;
    assert_int_equal(hs_select_dumps(&fx.p, &(struct hs_select_spec){ .snapshot = 0 }, &x), 0);
    assert_int_equal(hs_select_dumps(&fx.p, &(struct hs_select_spec){ .snapshot = 1 }, &y), 0);
    struct hs_diff diff;
    assert_int_equal(hs_diff_build(&x, &y, HS_VIEW_ALLOC_SPACE, &diff), 0);
    check(&diff, "f", 10000.0 * 4096, 10100.0 * 4096, HS_DIFF_GREW);
    struct hs_diff_change change = change_of(&diff, "f", false);
    assert_true(change.low > 81 * 4096 && change.high < 122 * 4096);
    hs_diff_deinit(&diff);
    assert_int_equal(hs_diff_build(&x, &y, HS_VIEW_SPACE, &diff), 0);
    check(&diff, "f", 10000.0 * 4096, 10100.0 * 4096, HS_DIFF_NOISE);
    hs_diff_deinit(&diff);
    hs_selection_deinit(&x);
    hs_selection_deinit(&y);
    fixture_deinit(&fx);
}

/*
 * Twice as many samples of the same shape are no difference after scaling; the whole then has no
 * margin.
 */
static void test_normalized(void **state)
{
    (void)state;
    struct fixture sides[2];
    for (int side = 0; side < 2; side++) {
        struct fixture *fx = &sides[side];
        *fx = program("/a/prog");
        uint32_t main_ = fixture_call(fx, HS_NODE_NONE, "main");
        uint32_t load = fixture_call(fx, main_, "load");
        uint32_t draw = fixture_call(fx, main_, "draw");
        double factor = side + 1;
        sample(fx, load, hits_of(300 * factor));
        sample(fx, draw, hits_of(side ? 300 : 100));
    }
    struct hs_diff diff = diff_of(&sides[0], &sides[1], HS_VIEW_SPACE);
    assert_int_equal(change_of(&diff, "load", false).verdict, HS_DIFF_GREW);
    assert_int_equal(hs_diff_normalize(&diff), 0);
    assert_true(fabs(diff.scale - 900.0 / 400) < 1e-9);
    assert_int_equal(change_of(&diff, "load", false).verdict, HS_DIFF_SHRANK);
    assert_int_equal(change_of(&diff, "draw", false).verdict, HS_DIFF_GREW);
    struct hs_diff_change whole = change_of(&diff, "main", true);
    assert_int_equal(whole.verdict, HS_DIFF_SAME);
    /* Blocks that went unseen, on either side. */
    assert_true(whole.high - whole.low < 2 * 3.85 * 4096 * (1 + diff.scale));
    whole = hs_diff_change_of(&diff, &diff.total);
    assert_true(whole.high - whole.low < 1);
    hs_diff_deinit(&diff);
    fixture_deinit(&sides[0]);
    fixture_deinit(&sides[1]);
}

static void test_normalized_empty(void **state)
{
    (void)state;
    struct fixture empty = program("/a/prog"), full = program("/a/prog");
    sample(&full, fixture_call(&full, HS_NODE_NONE, "main"), fixture_exact(10, 1));
    struct hs_diff diff = diff_of(&empty, &full, HS_VIEW_SPACE);
    assert_int_equal(hs_diff_normalize(&diff), -EDOM);
    hs_diff_deinit(&diff);
    fixture_deinit(&empty);
    fixture_deinit(&full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_builds),
        cmocka_unit_test(test_libraries),
        cmocka_unit_test(test_recursion),
        cmocka_unit_test(test_few_samples),
        cmocka_unit_test(test_exact_blocks_among_samples),
        cmocka_unit_test(test_mixed_sizes),
        cmocka_unit_test(test_real_changes),
        cmocka_unit_test(test_false_alarms),
        cmocka_unit_test(test_cumulative),
        cmocka_unit_test(test_normalized),
        cmocka_unit_test(test_normalized_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
