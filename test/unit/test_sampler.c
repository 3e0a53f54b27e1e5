/*
 * The sampler on a real control page: weights add up, settings reach a running thread.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "client_fixture.h"
#include "client/lifecycle.h"
#include "client/sampler.h"

static const uint32_t alive = 1;

static void set_interval(uint64_t interval_bytes)
{
    struct hs_region_control_v1 *control = &hs_control_page.control;
    control->interval_bytes = interval_bytes;
    control->generation++;
    /* As a collector does it: beyond the reach of any countdown. */
    control->floor_bytes += HS_FLOOR_STEP;
}

static int set_up(void **state)
{
    (void)state;
    if (fixture_region() != 0) {
        return -1;
    }
    hs_lifecycle.alive_word = &alive;
    hs_lifecycle.state = HS_LIFE_ON;
    hs_sampler_seed(1);
    return 0;
}

/* What a hook does. */
static uint64_t weigh(size_t size_bytes)
{
    struct hs_sample sample;
    if (hs_sampler_drop(size_bytes) || !hs_sampler_hit(size_bytes, &sample)) {
        return 0;
    }
    return sample.hits ? sample.hits * sample.interval_bytes : size_bytes;
}

static void test_every_one(void **state)
{
    (void)state;
    set_interval(1);
    struct hs_sample sample;
    for (size_t size = 0; size < 5000; size++) {
        assert_int_equal(weigh(size), size);
        assert_false(hs_sampler_drop(size));
        assert_true(hs_sampler_hit(size, &sample));
        assert_int_equal(sample.hits, 0);
    }
}

static void test_large_are_exact(void **state)
{
    (void)state;
    set_interval(4096);
    for (int i = 0; i < 10000; i++) {
        weigh((size_t)(i * 37 % 4000));
        assert_int_equal(weigh(4096), 4096);
        assert_int_equal(weigh(1000000), 1000000);
        assert_int_equal(weigh(SIZE_MAX), SIZE_MAX);
    }
}

/* The sum of weights estimates the sum of sizes within its stated error, for each size. */
static void test_unbiased(void **state)
{
    (void)state;
    set_interval(4096);
    const size_t sizes[] = { 1, 8, 16, 100, 1000, 4095 };
    for (size_t s = 0; s < HS_COUNT_OF(sizes); s++) {
        double total = 0, truth = 0;
        while (truth < 4e7) {
            total += (double)weigh(sizes[s]);
            truth += (double)sizes[s];
        }
        /* Four standard errors. */
        assert_true(fabs(total - truth) < 4 * sqrt(4096 * truth));
    }
    /* Where an interval is only a few bytes, rounding must not show. */
    set_interval(16);
    double total = 0, count = 0, truth = 0;
    while (truth < 4e7) {
        uint64_t weight = weigh(8);
        total += (double)weight;
        count += weight ? 1 / -expm1(-8.0 / 16) : 0;
        truth += 8;
    }
    assert_true(fabs(total - truth) < 4 * sqrt(16 * truth) + truth / (24 * 16 * 16));
    assert_true(fabs(count - truth / 8) < 4 * sqrt(truth / 8 * exp(-0.5) / -expm1(-0.5)));
}

static void test_off_and_on(void **state)
{
    (void)state;
    set_interval(HS_INTERVAL_OFF);
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(weigh(10000), 0);
    }
    assert_true(hs_sampler_drop(10000)); /* the hot half alone, once it has been picked up */
    set_interval(1);
    assert_int_equal(weigh(3), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_one),
        cmocka_unit_test(test_large_are_exact),
        cmocka_unit_test(test_unbiased),
        cmocka_unit_test(test_off_and_on),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
