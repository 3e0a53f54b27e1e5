/* rate_unit.h: no rate is stated for a longer time than what was recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/rate_unit.h"

static void assert_unit(double recorded_seconds, const char *words, const char *sign)
{
    const struct hs_rate_unit *unit = hs_rate_unit_of(recorded_seconds);
    assert_string_equal(unit->words, words);
    assert_string_equal(unit->sign, sign);
}

static void units(void **state)
{
    (void)state;
    assert_unit(0, "a second", "/s");
    assert_unit(1.8, "a second", "/s");
    assert_unit(59.999, "a second", "/s");
    assert_unit(60, "a minute", "/min");
    assert_unit(3599.9, "a minute", "/min");
    assert_unit(3600, "an hour", "/h");
    assert_unit(1e9, "an hour", "/h");
}

static void lengths(void **state)
{
    (void)state;
    assert_true(hs_rate_unit_of(1)->seconds == 1);
    assert_true(hs_rate_unit_of(100)->seconds == 60);
    assert_true(hs_rate_unit_of(1e5)->seconds == 3600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units),
        cmocka_unit_test(lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
