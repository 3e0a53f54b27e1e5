/*
 * peak_margin.h: how often the truth lies outside the interval of a sampled peak, for many shapes
 * of heaps.
 *
 * A run is simulated by its samples: they are born at random, each lives for a random time, and the
 * peak is the moment with most of them. The truth is known, because it determines how many are
 * born.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profile/model/margin.h"
#include "profile/model/peak_margin.h"
#include "rt/base.h"

#define INTERVAL 4096.0

static uint64_t seed = 88172645463325252u;

static double uniform(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return ((double)(seed >> 11) + 0.5) / (double)(UINT64_C(1) << 53);
}

/* The level as a share of the highest one; `at` goes from 0 to 1. */
static double steady(double at)
{
    return fmin(at * 50, 1);
}
static double ramp(double at)
{
    return at < 0.5 ? 2 * at : 2 - 2 * at;
}
static double growth(double at)
{
    return at;
}
static double teeth(double at)
{
    return ramp(fmod(at * 20, 1));
}
static double spike(double at)
{
    return fmin(at * 50, 0.6 + 0.4 * fmax(0, 1 - fabs(at - 0.5) / 0.02));
}
static double nearly_two(double at)
{
    return at < 0.1 ? at * 10 : at < 0.5 ? 0.97 : at < 0.9 ? 1 : (1 - at) * 10;
}

struct shape {
    const char *name;
    double (*level)(double at);
    double samples;   /* at the highest level */
    double turnovers; /* in the whole run: a sample lives for 1 / turnovers of the run */
    double exact;     /* bytes beside them that are not sampled */
    unsigned runs;
    double mean_max; /* limit for the average peak of the runs, in units of the truth */
};

struct run {
    double live[2], born; /* of two stacks */
    double peak[2];
};

/* The first stack makes three tenths of the allocations. */
static struct run simulate(const struct shape *shape)
{
    struct run run = { 0 };
    double at = 0;
    while (at < 1) {
        double now = run.live[0] + run.live[1];
        double level = shape->level(at), soon = shape->level(fmin(at + 1e-6, 1));
        double births = shape->samples * (level * shape->turnovers + (soon - level) / 1e-6);
        double deaths = now * shape->turnovers;
        if (births < 0) {
            deaths += -births * (level > 0 ? now / (shape->samples * level) : 1);
            births = 0;
        }
        double step = -log(uniform()) / (births + deaths + 1e-9);
        at += fmin(step, 0.0005); /* the rates change meanwhile */
        if (step > 0.0005 || at >= 1) {
            continue;
        }
        if (uniform() * (births + deaths) < births) {
            run.live[uniform() < 0.3 ? 0 : 1]++;
            run.born++;
        } else if (now > 0) {
            run.live[uniform() * now < run.live[0] ? 0 : 1]--;
        }
        if (run.live[0] + run.live[1] > run.peak[0] + run.peak[1]) {
            run.peak[0] = run.live[0];
            run.peak[1] = run.live[1];
        }
    }
    return run;
}

static struct hs_amount amount_of(double samples, double exact)
{
    double bytes = samples * INTERVAL;
    return (struct hs_amount){ .bytes = bytes + exact,
                               .bytes_var = bytes * INTERVAL,
                               .sampled_bytes = bytes,
                               .count = samples * 4,
                               .count_var = samples * 4 * 4,
                               .sampled_count = samples * 4 };
}

static bool does_miss(const struct hs_amount *amount, bool is_count, double truth)
{
    struct hs_figure figure = hs_figure_of(amount, is_count);
    struct hs_margin margin = hs_margin_of(&figure);
    return truth < figure.value - margin.below - 1e-6 || truth > figure.value + margin.above + 1e-6;
}

static void test_coverage(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        { "steady, 10 kB, 1000 turnovers", steady, 2.44, 1000, 0, 1000, 9 },
        { "steady, 100 kB, 300 turnovers", steady, 24.4, 300, 0, 600, 2 },
        { "steady, 1 MB, 30 turnovers", steady, 244, 30, 0, 400, 1.25 },
        { "steady, 1 MB, 1000 turnovers", steady, 244, 1000, 0, 60, 1.35 },
        { "steady, 100 MB, 10 turnovers", steady, 24414, 10, 0, 40, 1.03 },
        { "steady, 1 MB, half of it exact", steady, 122, 100, 500000, 200, 1.4 },
        { "up and down", ramp, 244, 0.01, 0, 1000, 1.05 },
        { "up and down, with churn", ramp, 244, 50, 0, 200, 1.2 },
        { "growth to the end", growth, 244, 0.01, 0, 1000, 1.05 },
        { "growth with churn", growth, 244, 50, 0, 200, 1.2 },
        { "20 equal teeth", teeth, 244, 0.01, 0, 300, 1.2 },
        { "a spike", spike, 244, 5, 0, 400, 1.1 },
        { "a spike in churn", spike, 244, 100, 0, 200, 1.15 },
        { "two levels, 3 % apart", nearly_two, 244, 50, 0, 200, 1.25 },
    };
    for (size_t i = 0; i < HS_COUNT_OF(shapes); i++) {
        const struct shape *shape = &shapes[i];
        unsigned total_misses = 0, stack_misses = 0, count_misses = 0;
        double truth = shape->samples * INTERVAL, sum = 0;
        for (unsigned n = 0; n < shape->runs; n++) {
            struct run run = simulate(shape);
            struct hs_amount alloc = amount_of(run.born, shape->exact);
            struct hs_amount peak = amount_of(run.peak[0] + run.peak[1], shape->exact);
            struct hs_amount stack = amount_of(run.peak[0], 0);
            struct hs_peak_luck luck = hs_peak_luck_of(&alloc, &peak);
            hs_peak_luck_set(&peak, &luck);
            hs_peak_luck_set(&stack, &luck);
            total_misses += does_miss(&peak, false, truth + shape->exact);
            count_misses += does_miss(&peak, true, shape->samples * 4);
            /* A stack without a sample is not shown. */
            stack_misses += run.peak[0] > 0 && does_miss(&stack, false, truth * 0.3);
            sum += peak.bytes / (truth + shape->exact) / shape->runs;
        }
        print_message("%-34s mean %.3f, missed: total %.1f %%, stack %.1f %%, count %.1f %%\n",
                      shape->name, sum, 100.0 * total_misses / shape->runs,
                      100.0 * stack_misses / shape->runs, 100.0 * count_misses / shape->runs);
        /* 5 %, and three standard errors of that many runs. */
        double most = shape->runs * 0.05 + 3 * sqrt(shape->runs * 0.05 * 0.95);
        assert_true(total_misses <= most);
        assert_true(stack_misses <= most);
        assert_true(count_misses <= most);
        assert_true(sum < shape->mean_max);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coverage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
