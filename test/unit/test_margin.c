/*
 * profile/margin: intervals against the closed form and against the Poisson distribution itself, and
 * which part of an amount rests on samples.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/margin.h"

#define INTERVAL 4096.0

static bool is_near(double got, double expected)
{
    return fabs(got - expected) <= 1e-6 * (1 + fabs(expected));
}

/* `samples` of bytes: each stands for an interval. */
static struct hs_figure of_samples(double samples, double exact)
{
    return (struct hs_figure){ .value = exact + samples * INTERVAL,
                               .sampled = samples * INTERVAL,
                               .var = samples * INTERVAL * INTERVAL };
}

static void the_formula(void **state)
{
    (void)state;
    const double z = 1.96;
    for (double k = 0.25; k < 1e7; k *= 1.7) {
        struct hs_figure figure = of_samples(k, 1e6);
        struct hs_margin margin = hs_margin_of(&figure);
        double t = k * INTERVAL;
        double root = z / sqrt(k) * sqrt(1 + z * z / (4 * k));
        assert_true(is_near(figure.sampled - margin.below, t * (1 + z * z / (2 * k) - root)));
        assert_true(is_near(figure.sampled + margin.above, t * (1 + z * z / (2 * k) + root)));
        assert_true(margin.below < figure.sampled);
    }
    /* Many samples: the normal one. */
    struct hs_figure figure = of_samples(1e8, 0);
    struct hs_margin margin = hs_margin_of(&figure);
    assert_true(fabs(margin.above / (z * sqrt(figure.var)) - 1) < 1e-3);
    assert_true(fabs(margin.below / (z * sqrt(figure.var)) - 1) < 1e-3);
}

/* How often the interval of a Poisson count holds its mean. */
static double coverage(double mean)
{
    double chance = exp(-mean);
    double sum = 0;
    for (unsigned n = 0; n < 500; n++) {
        struct hs_figure figure = of_samples(n, 0);
        struct hs_margin margin = hs_margin_of(&figure);
        double truth = mean * INTERVAL;
        sum += figure.value - margin.below <= truth && truth <= figure.value + margin.above ? chance
                                                                                            : 0;
        chance *= mean / (n + 1);
    }
    return sum;
}

static void it_holds_as_often_as_it_says(void **state)
{
    (void)state;
    double sum = 0;
    unsigned count = 0;
    for (double mean = 4; mean < 60; mean += 0.01, count++) {
        double share = coverage(mean);
        assert_true(share > 0.91 && share < 0.99);
        sum += share;
    }
    /* The normal interval gives 0.939 here, and 0.85 at its worst. */
    assert_true(fabs(sum / count - 0.95) < 0.005);
}

static void exact_and_odd_figures(void **state)
{
    (void)state;
    const struct hs_figure exact = { .value = 100 };
    assert_true(hs_margin_of(&exact).below == 0 && hs_margin_of(&exact).above == 0);
    const struct hs_figure odd[] = {
        { .var = 1 },
        { .value = 1, .var = 1e308 },
        { .value = 1e-300, .sampled = 1e-300, .var = 1e300 },
        { .value = -1, .var = 1 },
        { .value = 1, .sampled = 1, .var = NAN },
    };
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        struct hs_margin margin = hs_margin_of(&odd[i]);
        assert_true(isfinite(margin.below) && isfinite(margin.above) && margin.above >= 0);
    }
}

/* Samples of one size, as a recorder makes them. */
static void add_samples(struct hs_amount *amount, double size_bytes, unsigned count)
{
    double p = -expm1(-size_bytes / INTERVAL);
    amount->bytes += count * INTERVAL;
    amount->bytes_var += count * INTERVAL * INTERVAL;
    amount->count += count / p;
    amount->count_var += count * (1 - p) / (p * p);
}

static void which_part_is_sampled(void **state)
{
    (void)state;
    struct hs_amount exact = { .bytes = 12345, .count = 2 };
    hs_margin_split(&exact, 4096);
    assert_true(exact.sampled_bytes == 0 && exact.sampled_count == 0);

    struct hs_amount sampled = { 0 };
    add_samples(&sampled, 24, 3);
    add_samples(&sampled, 1000, 5);
    sampled.bytes_var *= 1 + 1.0 / 4096; /* as it comes out of a file */
    hs_margin_split(&sampled, 4096);
    assert_true(sampled.sampled_bytes == sampled.bytes && sampled.sampled_count == sampled.count);

    /* Three small samples in front of ten thousand large blocks. */
    struct hs_amount mixed = { .bytes = 1e9, .count = 10000 };
    add_samples(&mixed, 24, 3);
    double count = mixed.count - 10000;
    hs_margin_split(&mixed, 4096);
    assert_true(is_near(mixed.sampled_bytes, 3 * INTERVAL));
    assert_true(fabs(mixed.sampled_count / count - 1) < 0.01);
    struct hs_figure figure = hs_figure_of(&mixed, true);
    assert_true(figure.value - hs_margin_of(&figure).below > 10000);

    /* Nothing is known of it: the whole count may be samples, but not more. */
    struct hs_amount wrong = { .bytes = 5000, .count = 1, .bytes_var = 4096, .count_var = 1e12 };
    hs_margin_split(&wrong, 4096);
    assert_true(wrong.sampled_count == 1);
    hs_margin_split(&wrong, 0);
    assert_true(wrong.sampled_count == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_formula),
        cmocka_unit_test(it_holds_as_often_as_it_says),
        cmocka_unit_test(exact_and_odd_figures),
        cmocka_unit_test(which_part_is_sampled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
