/* human.h: three significant digits, and never "1024 KiB" or "1000 M" where the unit changes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/human.h"

static char out[HS_HUMAN_BYTES];

static void sizes(void **state)
{
    (void)state;
    assert_string_equal(hs_human_bytes(out, 0), "0 B");
    assert_string_equal(hs_human_bytes(out, 1023), "1023 B");
    assert_string_equal(hs_human_bytes(out, 1023.6), "1.00 KiB");
    assert_string_equal(hs_human_bytes(out, 1536), "1.50 KiB");
    assert_string_equal(hs_human_bytes(out, 12.34 * 1048576), "12.3 MiB");
    assert_string_equal(hs_human_bytes(out, 9.999 * 1048576), "10.0 MiB");
    assert_string_equal(hs_human_bytes(out, 99.96 * 1048576), "100 MiB");
    assert_string_equal(hs_human_bytes(out, 1000.0 * 1048576), "0.98 GiB");
    assert_string_equal(hs_human_bytes(out, 1048575), "1.00 MiB");
    assert_string_equal(hs_human_bytes(out, -2048), "-2.00 KiB");
    assert_string_equal(hs_human_bytes(out, NAN), "?");
    hs_human_bytes(out, 1e30); /* must not overflow its buffer */
}

static void counts(void **state)
{
    (void)state;
    assert_string_equal(hs_human_count(out, 0), "0");
    assert_string_equal(hs_human_count(out, 999), "999");
    assert_string_equal(hs_human_count(out, 1000), "1,000");
    assert_string_equal(hs_human_count(out, 123456.4), "123,456");
    assert_string_equal(hs_human_count(out, 999999.4), "999,999");
    assert_string_equal(hs_human_count(out, 999999.6), "1.00 M");
    assert_string_equal(hs_human_count(out, 12345678), "12.3 M");
    assert_string_equal(hs_human_count(out, 999.6e6), "1.00 G");
    assert_string_equal(hs_human_count(out, -1), "?");
    assert_string_equal(hs_human_exact(out, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void durations(void **state)
{
    (void)state;
    assert_string_equal(hs_human_duration(out, 0), "0 s");
    assert_string_equal(hs_human_duration(out, 1500), "1.50 us");
    assert_string_equal(hs_human_duration(out, 350000000), "350 ms");
    assert_string_equal(hs_human_duration(out, 999900000), "1.00 s");
    assert_string_equal(hs_human_duration(out, 12340000000), "12.3 s");
    assert_string_equal(hs_human_duration(out, 59960000000), "1 min 00 s");
    assert_string_equal(hs_human_duration(out, 200000000000), "3 min 20 s");
    assert_string_equal(hs_human_duration(out, 3599600000000), "1 h 00 min");
    assert_string_equal(hs_human_duration(out, 90061000000000), "1 d 01 h");
}

static void shares(void **state)
{
    (void)state;
    assert_string_equal(hs_human_share(out, 1, 3), "33.3 %");
    assert_string_equal(hs_human_share(out, 1, 1e6), "<0.1 %");
    assert_string_equal(hs_human_share(out, 0, 5), "0.0 %");
    assert_string_equal(hs_human_share(out, 0, 0), "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(counts),
        cmocka_unit_test(durations),
        cmocka_unit_test(shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
