/*
 * Sizes, durations and numbers: which forms are accepted, which are refused, and the limit of 64
 * bits.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rt/base.h"
#include "util/parse.h"

struct good {
    const char *text;
    uint64_t value;
};

static void expect_good(int (*parse)(const char *, uint64_t *), const struct good *cases,
                        size_t case_count)
{
    for (size_t i = 0; i < case_count; i++) {
        uint64_t value = 12345;
        print_message("  %s\n", cases[i].text);
        assert_int_equal(parse(cases[i].text, &value), 0);
        assert_int_equal(value, cases[i].value);
    }
}

static void expect_bad(int (*parse)(const char *, uint64_t *), int error, const char *const *texts,
                       size_t text_count)
{
    for (size_t i = 0; i < text_count; i++) {
        uint64_t value = 12345;
        print_message("  %s\n", texts[i]);
        assert_int_equal(parse(texts[i], &value), error);
        assert_int_equal(value, 12345);
    }
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct good good[] = {
        { "0", 0 },
        { "4096", 4096 },
        { "1K", 1024 },
        { "64k", 65536 },
        { "1.5M", 1572864 },
        { "2GiB", UINT64_C(2) << 30 },
        { "1T", UINT64_C(1) << 40 },
        { "0.0001K", 0 },
        { "0.5b", 0 },
        { "18446744073709551615", UINT64_MAX },
        { "16777215.9999999999T", UINT64_C(18446744073709550516) },
    };
    static const char *const bad[] = { "",   "K",  "-1", "+1",   " 1",  "1 ",  "1 K",
                                       "1x", "1.", ".5", "0x10", "1e3", "1KK", "1s" };
    static const char *const large[] = { "18446744073709551616", "16777216T",
                                         "99999999999999999999999" };
    expect_good(hs_parse_size, good, HS_COUNT_OF(good));
    expect_bad(hs_parse_size, -EINVAL, bad, HS_COUNT_OF(bad));
    expect_bad(hs_parse_size, -ERANGE, large, HS_COUNT_OF(large));
}

static void test_durations(void **state)
{
    (void)state;
    static const struct good good[] = {
        { "0s", 0 },
        { "1us", 1000 },
        { "250ms", 250000000 },
        { "0.1s", 100000000 },
        { "1.000000001s", 1000000001 },
        { "1.5m", UINT64_C(90000000000) },
        { "2h", UINT64_C(7200000000000) },
    };
    static const char *const bad[] = { "", "10", "s", "1d", "1 s", "-1s" };
    static const char *const large[] = { "5124096h" };
    expect_good(hs_parse_duration, good, HS_COUNT_OF(good));
    expect_bad(hs_parse_duration, -EINVAL, bad, HS_COUNT_OF(bad));
    expect_bad(hs_parse_duration, -ERANGE, large, HS_COUNT_OF(large));
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct good good[] = { { "0", 0 }, { "18446744073709551615", UINT64_MAX } };
    static const char *const bad[] = { "", "1.0", "1K", "-1", "x" };
    expect_good(hs_parse_number, good, HS_COUNT_OF(good));
    expect_bad(hs_parse_number, -EINVAL, bad, HS_COUNT_OF(bad));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
