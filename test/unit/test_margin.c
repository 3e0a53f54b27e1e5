/*
 * profile/margin: intervals compared with the closed form, with the Poisson distribution itself,
 * and with mixtures of sizes that are recorded many times; and which part of an amount rests on
 * samples.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/model/margin.h"
#include "profile/read/load_intervals.h"

#define INTERVAL 4096.0
#define Z_95     1.96

static bool is_near(double got, double expected)
{
    return fabs(got - expected) <= 1e-6 * (1 + fabs(expected));
}

/* An amount of bytes with `samples` samples, each of which stands for an interval. */
static struct hs_figure of_samples(double samples, double exact)
{
    return (struct hs_figure){ .value = exact + samples * INTERVAL,
                               .sampled = samples * INTERVAL,
                               .var = samples * INTERVAL * INTERVAL,
                               .weight = INTERVAL };
}

static void the_formula(void **state)
{
    (void)state;
    for (double k = 0.25; k < 1e7; k *= 1.7) {
        struct hs_figure figure = of_samples(k, 1e6);
        struct hs_margin margin = hs_margin_of(&figure);
        double half = Z_95 * Z_95 / 2;
        double root = 1 - 1 / (9 * k) - Z_95 / (3 * sqrt(k));
        assert_true(is_near(margin.above, INTERVAL * (half + sqrt(Z_95 * Z_95 * k + half * half))));
        assert_true(is_near(figure.sampled - margin.below,
                            root > 0 ? INTERVAL * k * root * root * root : 0));
        assert_true(margin.below <= figure.sampled);
    }
    /* With many samples, the interval is that of the normal distribution. */
    struct hs_figure figure = of_samples(1e8, 0);
    struct hs_margin margin = hs_margin_of(&figure);
    assert_true(fabs(margin.above / (Z_95 * sqrt(figure.var)) - 1) < 1e-3);
    assert_true(fabs(margin.below / (Z_95 * sqrt(figure.var)) - 1) < 1e-3);
}

/*
 * Neither end of the interval is inside the exact (Garwood) 95 % interval of a Poisson count by
 * more than 0.02 of a sample.
 */
static void no_narrower_than_the_exact_interval(void **state)
{
    static const double garwood[][3] = {
        { 0, 0, 3.6889 },       { 1, 0.025318, 5.5716 },  { 2, 0.242209, 7.2247 },
        { 5, 1.6235, 11.668 },  { 10, 4.7954, 18.390 },   { 20, 12.217, 30.888 },
        { 50, 37.112, 65.919 }, { 100, 81.364, 121.627 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(garwood) / sizeof(garwood[0]); i++) {
        struct hs_figure figure = of_samples(garwood[i][0], 0);
        struct hs_margin margin = hs_margin_of(&figure);
        double low = (figure.value - margin.below) / INTERVAL;
        double high = (figure.value + margin.above) / INTERVAL;
        assert_true(low <= garwood[i][1] && low >= garwood[i][1] - 0.04);
        assert_true(high >= garwood[i][2] - 0.02 && high <= garwood[i][2] + 0.3);
    }
}

/* How often the truth is below and above the interval of a Poisson count. */
static void misses(double mean, double ret_miss[2])
{
    double chance = exp(-mean);
    ret_miss[0] = ret_miss[1] = 0;
    for (unsigned n = 0; n < 500; n++) {
        struct hs_figure figure = of_samples(n, 0);
        struct hs_margin margin = hs_margin_of(&figure);
        double truth = mean * INTERVAL;
        ret_miss[0] += truth < figure.value - margin.below ? chance : 0;
        ret_miss[1] += truth > figure.value + margin.above ? chance : 0;
        chance *= mean / (n + 1);
    }
}

static void bytes_hold_at_every_mean(void **state)
{
    (void)state;
    for (double mean = 0.001; mean < 100; mean += mean < 1 ? 0.001 : 0.01) {
        double miss[2];
        misses(mean, miss);
        if (miss[0] > 0.0251 || miss[1] > 0.0251) {
            fail_msg("mean %g: below %g, above %g", mean, miss[0], miss[1]);
        }
    }
}

/* --- mixtures of sizes --- */

static double random_unit(uint64_t *seed)
{
    *seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *seed;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}

static double poisson(uint64_t *seed, double mean)
{
    if (mean > 500) {
        return poisson(seed, mean / 2) + poisson(seed, mean / 2);
    }
    double product = random_unit(seed), least = exp(-mean), count = 0;
    for (; product > least; count++) {
        product *= random_unit(seed);
    }
    return count;
}

/* What a recorder makes of `objects` blocks of one size. */
static void record(uint64_t *seed, double interval, double size_bytes, double objects,
                   struct hs_amount *amount)
{
    if (size_bytes >= interval) {
        amount->bytes += objects * size_bytes;
        amount->count += objects;
        return;
    }
    double p = -expm1(-size_bytes / interval), found = 0, hits = 0;
    for (int i = 0; objects <= 64 && i < (int)objects; i++) {
        double more = poisson(seed, size_bytes / interval);
        hits += more;
        found += more > 0;
    }
    if (objects > 64) {
        found = poisson(seed, objects * p);
        hits = found + poisson(seed, objects * (size_bytes / interval - p));
    }
    amount->bytes += hits * interval;
    amount->bytes_var += hits * interval * interval;
    amount->count += found / p;
    amount->count_var += found * (1 - p) / (p * p);
}

struct mixture {
    const char *name;
    double size_bytes[6]; /* negative: in multiples of the interval */
    double objects[6];    /* negative: the mean number of samples */
};

static const struct mixture mixtures[] = {
    { "20 x 3000 + 2000 x 1", { 3000, 1 }, { 20, 2000 } },
    { "nothing is hit, mostly", { 20 }, { 100 } },
    { "one sample of bytes", { 1 }, { -1 } },
    { "bytes at the end of what goes unseen", { 1 }, { -3.6 } },
    { "bytes beside many larger", { 1, 500 }, { -2, 10000 } },
    { "bytes beside blocks near the interval", { 1, -0.9 }, { -1, 300 } },
    { "bytes and words", { 1, 8, 64, -0.5 }, { -0.3, -2, -20, 100 } },
    { "rare bytes", { 1, 100 }, { -0.03, 1000 } },
    { "bytes and pairs", { 1, 2 }, { -5, -5 } },
    { "nodes", { 24 }, { 100000 } },
    { "few large", { -0.5 }, { 5 } },
    { "one", { -0.99 }, { 1 } },
    { "beside exact blocks", { -2, 1, 300 }, { 30, -1.5, 20 } },
    { "doubling", { 16, 64, 256, 1024, 4096, 16384 }, { 1, 1, 1, 1, 1, 1 } },
    { "doubling, large", { -0.1, -0.2, -0.4, -0.8, -1.6, -3.2 }, { 1, 1, 1, 1, 1, 1 } },
};

struct misses {
    unsigned of_bytes[2], of_count[2]; /* how often the truth was below, above */
};

static void put(unsigned misses[2], const struct hs_figure *figure, double truth)
{
    struct hs_margin margin = hs_margin_of(figure);
    double slack = 1e-9 * (1 + truth);
    misses[0] += truth < figure->value - margin.below - slack;
    misses[1] += truth > figure->value + margin.above + slack;
}

static void run_mixture(const struct mixture *m, double interval, unsigned runs)
{
    uint64_t seed = 4711;
    struct misses misses = { 0 };
    for (unsigned run = 0; run < runs; run++) {
        struct hs_amount amount = { .interval_bytes = (float)interval };
        double bytes = 0, count = 0;
        for (size_t i = 0; i < 6 && m->size_bytes[i] != 0; i++) {
            double size = m->size_bytes[i] < 0 ? -m->size_bytes[i] * interval : m->size_bytes[i];
            double objects = m->objects[i] < 0 ? -m->objects[i] * interval / size : m->objects[i];
            record(&seed, interval, size, objects, &amount);
            bytes += size * objects;
            count += objects;
        }
        hs_margin_split(&amount, (uint64_t)interval);
        struct hs_figure figure = hs_figure_of(&amount, false);
        put(misses.of_bytes, &figure, bytes);
        figure = hs_figure_of(&amount, true);
        put(misses.of_count, &figure, count);
    }
    /* On each side 2.5 %, plus the deviation by chance in that many runs. */
    unsigned most = (unsigned)(0.025 * runs + 4 * sqrt(0.025 * runs));
    if (misses.of_bytes[0] > most || misses.of_bytes[1] > most || misses.of_count[0] > most ||
        misses.of_count[1] > most) {
        fail_msg("%s, interval %g: bytes %u below, %u above; objects %u below, %u above; of %u",
                 m->name, interval, misses.of_bytes[0], misses.of_bytes[1], misses.of_count[0],
                 misses.of_count[1], runs);
    }
}

static void mixed_sizes_hold(void **state)
{
    static const double intervals[] = { 16, 512, 4096, 65536 };
    (void)state;
    for (size_t i = 0; i < sizeof(mixtures) / sizeof(mixtures[0]); i++) {
        for (size_t k = 0; k < sizeof(intervals) / sizeof(intervals[0]); k++) {
            run_mixture(&mixtures[i], intervals[k], 1000);
        }
    }
}

/* Up to four sizes with as many blocks as give 0.02 to 40 samples; every third size is one byte. */
static void random_mixtures_hold(void **state)
{
    static const double intervals[] = { 8, 64, 512, 4096, 65536 };
    (void)state;
    uint64_t seed = 20;
    for (int i = 0; i < 100; i++) {
        struct mixture m = { .name = "random" };
        double interval = intervals[i % 5];
        size_t sizes = 1 + (size_t)(4 * random_unit(&seed));
        for (size_t k = 0; k < sizes; k++) {
            double size = floor(exp(random_unit(&seed) * log(interval)));
            m.size_bytes[k] = random_unit(&seed) < 0.33 ? 1 : size;
            m.objects[k] = -0.02 * pow(2000, random_unit(&seed));
        }
        run_mixture(&m, interval, 400);
    }
}

/* Beside exact blocks and beside 0, a sampled profile may have missed the same amount. */
static void beside_what_is_exact(void **state)
{
    (void)state;
    const double values[] = { 0, 1, 1e9 };
    for (size_t i = 0; i < 3; i++) {
        struct hs_amount amount = { .bytes = values[i], .count = values[i] / 8192 };
        struct hs_figure figure = hs_figure_of(&amount, false);
        assert_true(hs_margin_of(&figure).above == 0);
        amount.interval_bytes = 1;
        figure = hs_figure_of(&amount, true);
        assert_true(hs_margin_of(&figure).above == 0);
        amount.interval_bytes = 4096;
        figure = hs_figure_of(&amount, false);
        assert_true(is_near(hs_margin_of(&figure).above, 3.8416 * 4096));
        assert_true(hs_margin_of(&figure).below == 0);
        figure = hs_figure_of(&amount, true);
        assert_true(hs_margin_of(&figure).above >= 3.8416 * 4096);
        figure.extra_above = 5;
        figure.extra_below = 7;
        assert_true(is_near(hs_margin_of(&figure).above, 3.8416 * (4096.5 + 1.0 / 49152) + 5));
        assert_true(hs_margin_of(&figure).below == 7);
    }
}

/* Numbers of samples vary as such. */
static void counts_of_samples(void **state)
{
    (void)state;
    struct hs_amount amount = {
        .bytes = 400 * 4096, .count = 400, .interval_bytes = 4096, .has_sample_counts = true
    };
    struct hs_figure figure = hs_figure_of(&amount, true);
    assert_true(fabs(hs_margin_of(&figure).above - 41.2) < 0.1);
    assert_true(fabs(hs_margin_of(&figure).below - 38.3) < 0.1);
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

/* Adds samples of one size, as a recorder makes them. */
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
    sampled.bytes_var *= 1 + 1.0 / 4096; /* with the rounding error of a file */
    hs_margin_split(&sampled, 4096);
    assert_true(sampled.sampled_bytes == sampled.bytes && sampled.sampled_count == sampled.count);

    /* Three small samples beside ten thousand large blocks. */
    struct hs_amount mixed = { .bytes = 1e9, .count = 10000 };
    add_samples(&mixed, 24, 3);
    double count = mixed.count - 10000;
    hs_margin_split(&mixed, 4096);
    assert_true(is_near(mixed.sampled_bytes, 3 * INTERVAL));
    assert_true(fabs(mixed.sampled_count / count - 1) < 0.01);
    struct hs_figure figure = hs_figure_of(&mixed, true);
    assert_true(figure.value - hs_margin_of(&figure).below > 10000);

    /* An impossible input: the whole count may rest on samples, but not more. */
    struct hs_amount wrong = { .bytes = 5000, .count = 1, .bytes_var = 4096, .count_var = 1e12 };
    hs_margin_split(&wrong, 4096);
    assert_true(wrong.sampled_count == 1);
    hs_margin_split(&wrong, 0);
    assert_true(wrong.sampled_count == 0);
}

/*
 * A budget raised the interval and lowered it again: the widest interval is in none of the dump's
 * own fields.
 */
static void intervals_of_a_dump(void **state)
{
    (void)state;
    Hs__Pb__HsChange changes[] = { HS__PB__HS_CHANGE__INIT, HS__PB__HS_CHANGE__INIT };
    Hs__Pb__HsChange *list[] = { &changes[0], &changes[1] };
    Hs__Pb__HsDump dump = HS__PB__HS_DUMP__INIT;
    struct hs_load_intervals intervals = hs_load_intervals_of(&dump);
    assert_true(intervals.narrowest_bytes == 0 && intervals.widest_bytes == 0);
    dump.interval_bytes = dump.orig_interval_bytes = 1024;
    intervals = hs_load_intervals_of(&dump);
    assert_true(intervals.narrowest_bytes == 1024 && intervals.widest_bytes == 1024);
    changes[0].from_interval_bytes = 1024;
    changes[0].to_interval_bytes = changes[1].from_interval_bytes = 65536;
    changes[1].to_interval_bytes = 1024;
    dump.n_changes = 2;
    dump.changes = list;
    intervals = hs_load_intervals_of(&dump);
    assert_true(intervals.narrowest_bytes == 1024 && intervals.widest_bytes == 65536);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_formula),
        cmocka_unit_test(no_narrower_than_the_exact_interval),
        cmocka_unit_test(bytes_hold_at_every_mean),
        cmocka_unit_test(mixed_sizes_hold),
        cmocka_unit_test(random_mixtures_hold),
        cmocka_unit_test(beside_what_is_exact),
        cmocka_unit_test(counts_of_samples),
        cmocka_unit_test(intervals_of_a_dump),
        cmocka_unit_test(exact_and_odd_figures),
        cmocka_unit_test(which_part_is_sampled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
