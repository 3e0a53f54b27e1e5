/* trend.h: slopes that are known in advance, and how often chance alone makes one. */
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
#include "profile/analyse/trend.h"
#include "profile/analyse/trend_line.h"

#define DUMPS 10

static const struct hs_trend_line *line_of(const struct hs_trend *trend, const char *name)
{
    for (uint32_t i = 0; i < trend->function_count; i++) {
        if (strcmp(hs_trend_name(trend, i), name) == 0) {
            return &trend->functions[i].line;
        }
    }
    fail_msg("no function %s", name);
    return NULL;
}

static void put(struct fixture *fx, uint32_t node, double bytes)
{
    struct hs_amount amount = fixture_exact(bytes, 1);
    if (bytes > 0) {
        fixture_sample(fx, node, amount, amount, amount);
    }
}

static void test_known_lines(void **state)
{
    (void)state;
    static const double queue[DUMPS] = { 5, 30, 2, 25, 9, 31, 4, 22, 11, 6 };
    struct fixture fx = fixture_new();
    struct hs_trend trend;
    fixture_process(&fx, 100, "prog");
    uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
    uint32_t leak = fixture_call(&fx, main_, "leak");
    uint32_t late = fixture_call(&fx, main_, "late");
    uint32_t cache = fixture_call(&fx, main_, "cache");
    uint32_t pool = fixture_call(&fx, main_, "pool");
    uint32_t queue_ = fixture_call(&fx, main_, "queue");
    for (uint32_t i = 0; i < DUMPS; i++) {
        struct hs_profile_dump *dump = fixture_dump(&fx, 2u * i + 1u);
        dump->has_samples = true;
        dump->interval_bytes = 1;
        put(&fx, leak, 100 + 10.0 * i);
        put(&fx, late, i >= 5 ? 50 : 0);
        put(&fx, cache, 4000);
        put(&fx, pool, 1000 - 20.0 * i);
        put(&fx, queue_, queue[i]);
    }
    assert_int_equal(hs_trend_build(&fx.p, 0, HS_VIEW_SPACE, &trend), 0);
    assert_int_equal(trend.dump_count, DUMPS);
    assert_true(fabs(trend.seconds - 18) < 1e-9);

    const struct hs_trend_line *line = line_of(&trend, "leak");
    assert_int_equal(line->verdict, HS_TREND_GROWS);
    assert_true(fabs(line->slope - 5) < 1e-9 && line->margin < 1e-6);
    assert_int_equal(line->steps_up, DUMPS - 1);
    assert_int_equal(line->steps_down, 0);
    assert_true(line->first == 100 && line->last == 190);

    line = line_of(&trend, "pool");
    assert_int_equal(line->verdict, HS_TREND_SHRINKS);
    assert_true(fabs(line->slope + 10) < 1e-9);
    assert_int_equal(line->steps_down, DUMPS - 1);

    assert_int_equal(line_of(&trend, "cache")->verdict, HS_TREND_SAME);
    assert_int_equal(line_of(&trend, "queue")->verdict, HS_TREND_NOISE);
    /* A stack that appears later was 0 before: that is one step, not nine. */
    assert_int_equal(line_of(&trend, "late")->steps_up, 1);
    assert_true(line_of(&trend, "late")->first == 0 && line_of(&trend, "late")->last == 50);
    hs_trend_deinit(&trend);
    fixture_deinit(&fx);
}

static void test_too_few(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    struct hs_trend trend;
    fixture_process(&fx, 100, "prog");
    uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
    for (uint64_t i = 0; i < 2; i++) {
        fixture_dump(&fx, i + 1)->has_samples = true;
        put(&fx, main_, 10);
    }
    assert_int_equal(hs_trend_build(&fx.p, 0, HS_VIEW_SPACE, &trend), -ENODATA);
    fixture_deinit(&fx);
    const double same[] = { 3, 3, 3 };
    struct hs_trend_axis axis;
    assert_int_equal(hs_trend_axis_init(same, 3, &axis), -ENODATA);
}

/*
 * A Poisson number with a small mean, by Knuth's method. The generator's seed is fixed, so the test
 * is repeatable.
 */
static double poisson(uint64_t *state, double mean)
{
    double product = 1;
    int count = -1;
    do {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        product *= (double)(*state >> 11) / 9007199254740992.0;
        count++;
    } while (product > exp(-mean));
    return count;
}

/*
 * Samples that stay, or are new each time: in neither case may more than 5 % seem to grow where
 * nothing does.
 */
static double share_that_grows(double mean, double drift, bool is_staying)
{
    enum { TRIES = 2000 };
    struct hs_trend_axis axis;
    double seconds[DUMPS];
    uint64_t random = 20;
    int calls = 0;
    for (int i = 0; i < DUMPS; i++) {
        seconds[i] = i;
    }
    assert_int_equal(hs_trend_axis_init(seconds, DUMPS, &axis), 0);
    for (int i = 0; i < TRIES; i++) {
        struct hs_trend_series series = { 0 };
        double hits = poisson(&random, mean);
        for (uint32_t k = 0; k < DUMPS; k++) {
            hits = is_staying ? hits + poisson(&random, drift) : poisson(&random, mean + drift * k);
            struct hs_figure figure = { .value = hits * 4096,
                                        .sampled = hits * 4096,
                                        .var = hits * 4096.0 * 4096,
                                        .weight = 4096 };
            hs_trend_series_put(&series, &axis, k, &figure);
        }
        struct hs_trend_line line = hs_trend_series_line(&series, &axis);
        /* Distance from the truth, not from zero: samples that stay do grow. */
        calls += fabs(line.slope - drift * 4096) > line.margin;
    }
    free(axis.weights);
    return (double)calls / TRIES;
}

static void test_false_alarms(void **state)
{
    (void)state;
    assert_true(share_that_grows(50, 0, false) < 0.05);
    assert_true(share_that_grows(50, 2, false) < 0.05);
    assert_true(share_that_grows(50, 5, true) < 0.06);
    assert_true(share_that_grows(20, 20, true) < 0.06);
    /* Few samples, and none at all in most snapshots. */
    assert_true(share_that_grows(1, 0, false) < 0.05);
    assert_true(share_that_grows(0.05, 0, false) < 0.05);
    assert_true(share_that_grows(0.05, 0.3, true) < 0.06);
    assert_true(share_that_grows(0.05, 0.05, true) < 0.06);
}

/*
 * Blocks as large as the interval or larger, the same in each snapshot: small blocks may come and
 * go unseen.
 */
static void test_unseen(void **state)
{
    (void)state;
    struct hs_trend_axis axis;
    static const double seconds[] = { 0, 1, 2, 3 };
    struct hs_trend_series same = { 0 }, steps = { 0 }, exact = { 0 };
    assert_int_equal(hs_trend_axis_init(seconds, 4, &axis), 0);
    for (uint32_t k = 0; k < 4; k++) {
        struct hs_figure figure = { .value = 1 << 20, .weight = 4096 };
        hs_trend_series_put(&same, &axis, k, &figure);
        figure.value = 1000.0 * k;
        hs_trend_series_put(&steps, &axis, k, &figure);
        figure.weight = 0;
        hs_trend_series_put(&exact, &axis, k, &figure);
    }
    struct hs_trend_line line = hs_trend_series_line(&same, &axis);
    assert_int_equal(line.verdict, HS_TREND_SAME);
    assert_true(line.margin > 0.3 * 3.84 * 4096);
    assert_int_equal(hs_trend_series_line(&steps, &axis).verdict, HS_TREND_NOISE);
    assert_int_equal(hs_trend_series_line(&exact, &axis).verdict, HS_TREND_GROWS);
    free(axis.weights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_lines),
        cmocka_unit_test(test_too_few),
        cmocka_unit_test(test_false_alarms),
        cmocka_unit_test(test_unseen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
