/* The logarithm, the gap and the count estimate, compared with the C library's mathematics. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rt/rand.h"

static void test_log(void **state)
{
    (void)state;
    for (double x = 0x1p-53; x <= 1.0; x *= 1.0007) {
        double error = fabs(hs_log(x) - log(x));
        assert_true(error <= 1e-9 * (1 + fabs(log(x))));
    }
    assert_true(fabs(hs_log(1.0)) < 1e-12);
}

static void test_gap_mean(void **state)
{
    (void)state;
    uint64_t rng = 42;
    double sum = 0, squares = 0;
    const int draws = 2000000;
    for (int i = 0; i < draws; i++) {
        double gap = (double)hs_rand_gap(&rng, 4096);
        sum += gap;
        squares += gap * gap;
    }
    double mean = sum / draws;
    double deviation = sqrt(squares / draws - mean * mean);
    /* The standard deviation equals the mean; the limit is four standard errors. */
    assert_true(fabs(mean - 4096) < 4 * 4096 / sqrt(draws));
    assert_true(fabs(deviation - 4096) < 30);
}

/* Rounding makes samples neither rarer nor more frequent, however short the gaps are. */
static void test_short_gaps(void **state)
{
    (void)state;
    uint64_t rng = 43;
    const int draws = 2000000;
    for (uint64_t interval = 2; interval < 300; interval += 1 + interval / 3) {
        double sum = 0;
        for (int i = 0; i < draws; i++) {
            sum += (double)hs_rand_gap(&rng, interval);
        }
        double expected = (double)interval;
        double rounding = 1 / (24 * expected);
        assert_true(fabs(sum / draws - expected) < rounding + 4 * expected / sqrt(draws));
    }
}

static void test_inverse_probability(void **state)
{
    (void)state;
    for (double x = 1e-7; x < 1.0; x *= 1.01) {
        double exact = 1 / -expm1(-x);
        assert_true(fabs(hs_inverse_hit_probability(x) / exact - 1) < 2e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_gap_mean),
        cmocka_unit_test(test_short_gaps),
        cmocka_unit_test(test_inverse_probability),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
