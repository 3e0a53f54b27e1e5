/* The life table. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/analyse/survival.h"
#include "rt/rand.h"

static bool is_near(double a, double b)
{
    return fabs(a - b) < 1e-12;
}

/* Classes: 0: below 1 s; 1: 1 s; 2: 10 s; 3: 1 min; ... */
static void test_exact_without_censoring(void **state)
{
    (void)state;
    const struct hs_life_table table = { .died = { 60, 20, 10, 5 }, .alive = { [4] = 5 } };
    static const double shares[] = { 0.4, 0.2, 0.1, 0.05 };
    for (unsigned i = 0; i < 4; i++) {
        struct hs_survival s = hs_survival_at(&table, i + 1);
        assert_true(s.is_known && is_near(s.share, shares[i]));
        assert_true(s.low == s.share && s.high == s.share);
    }
    assert_false(hs_survival_at(&table, 5).is_known);
}

static void test_all_died(void **state)
{
    (void)state;
    const struct hs_life_table table = { .died = { 100 } };
    struct hs_survival s = hs_survival_at(&table, 5);
    assert_true(s.is_known && s.share == 0 && s.low == 0 && s.high == 0);
    assert_false(hs_survival_at(&(struct hs_life_table){ .died = { 0 } }, 1).is_known);
}

/* 100 blocks, of which 40 die below 1 s and 20 are that young: 1 - 40 / (100 - 10); of the other
 * 40, 10 die below 10 s. Computed by hand. */
static void test_censored(void **state)
{
    (void)state;
    const struct hs_life_table table = { .died = { 40, 10 }, .alive = { 20, 0, 30 } };
    struct hs_survival s = hs_survival_at(&table, 1);
    assert_true(is_near(s.share, 1 - 40.0 / 90));
    assert_true(fabs(s.low - 0.4382) < 5e-4 && fabs(s.high - 0.6670) < 5e-4);
    s = hs_survival_at(&table, 2);
    assert_true(s.is_known && is_near(s.share, (1 - 40.0 / 90) * 0.75));
    assert_false(hs_survival_at(&table, 3).is_known); /* nobody was watched for a minute */
}

/* With as many samples as blocks stand for, the interval is Wilson's. */
static void test_sampled(void **state)
{
    (void)state;
    const struct hs_life_table table = { .died = { 5000 },
                                         .died_var = { 5000 * 99.0 },
                                         .alive = { [4] = 5000 },
                                         .alive_var = { [4] = 5000 * 99.0 } };
    struct hs_survival s = hs_survival_at(&table, 1);
    assert_true(is_near(s.share, 0.5));
    assert_true(s.low > 0.38 && s.low < 0.41 && s.high > 0.59 && s.high < 0.62);
}

/* Blocks that are sampled with one probability: the interval holds nearly as often as it says. */
static void test_how_often_it_holds(void **state)
{
    (void)state;
    uint64_t random = 12345;
    unsigned held = 0, runs = 2000;
    for (unsigned run = 0; run < runs; run++) {
        struct hs_life_table table = { .died = { 0 } };
        for (unsigned i = 0; i < 2000; i++) {
            bool is_dead = i % 10 != 0; /* of 2000, 200 live on */
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            if ((random >> 33) % 10 == 0) { /* p = 0.1: 1/p = 10, (1 - p)/p^2 = 90 */
                double *count = is_dead ? &table.died[0] : &table.alive[4];
                double *var = is_dead ? &table.died_var[0] : &table.alive_var[4];
                *count += 10;
                *var += 90;
            }
        }
        struct hs_survival s = hs_survival_at(&table, 1);
        held += s.low <= 0.1 && 0.1 <= s.high;
    }
    assert_true(held > runs * 0.95);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_without_censoring),
        cmocka_unit_test(test_all_died),
        cmocka_unit_test(test_censored),
        cmocka_unit_test(test_sampled),
        cmocka_unit_test(test_how_often_it_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
