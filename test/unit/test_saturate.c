/* Saturating arithmetic: results that fit are exact, others become the nearest number that fits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rt/base.h"
#include "util/saturate.h"

static void sums(void **state)
{
    (void)state;
    static const struct {
        int64_t a, b, sum, difference;
    } cases[] = {
        { 3, 4, 7, -1 },
        { -3, 4, 1, -7 },
        { INT64_MAX, 1, INT64_MAX, INT64_MAX - 1 },
        { INT64_MAX, -1, INT64_MAX - 1, INT64_MAX },
        { INT64_MIN, -1, INT64_MIN, INT64_MIN + 1 },
        { INT64_MIN, 1, INT64_MIN + 1, INT64_MIN },
        { 0, INT64_MIN, INT64_MIN, INT64_MAX },
        { INT64_MIN, INT64_MIN, INT64_MIN, 0 },
        { INT64_MIN, INT64_MAX, -1, INT64_MIN },
        { INT64_MAX, INT64_MIN, -1, INT64_MAX },
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        assert_true(hs_saturate_add(cases[i].a, cases[i].b) == cases[i].sum);
        assert_true(hs_saturate_subtract(cases[i].a, cases[i].b) == cases[i].difference);
    }
}

static void unsigned_numbers(void **state)
{
    (void)state;
    assert_true(hs_saturate_add_unsigned(3, 4) == 7);
    assert_true(hs_saturate_add_unsigned(UINT64_MAX, 0) == UINT64_MAX);
    assert_true(hs_saturate_add_unsigned(UINT64_MAX - 1, 2) == UINT64_MAX);
    assert_true(hs_saturate_multiply_unsigned(3, 4) == 12);
    assert_true(hs_saturate_multiply_unsigned(UINT64_MAX / 2 + 1, 2) == UINT64_MAX);
    assert_true(hs_saturate_signed(0) == 0);
    assert_true(hs_saturate_signed(INT64_MAX) == INT64_MAX);
    assert_true(hs_saturate_signed((uint64_t)INT64_MAX + 1) == INT64_MAX);
    assert_true(hs_saturate_signed(UINT64_MAX) == INT64_MAX);
}

static void doubles(void **state)
{
    (void)state;
    static const struct {
        double value;
        int64_t as_signed;
        uint64_t as_unsigned;
    } cases[] = {
        { 0.49999999999999994, 0, 0 },
        { 0.5, 1, 1 },
        { -0.5, -1, 0 },
        { 4503599627370497.5, 4503599627370498, 4503599627370498 },
        { 9223372036854774784.0, 9223372036854774784, 9223372036854774784U },
        { 9223372036854775808.0, INT64_MAX, 9223372036854775808U },
        { -9223372036854775808.0, INT64_MIN, 0 },
        { -9223372036854777856.0, INT64_MIN, 0 },
        { 18446744073709549568.0, INT64_MAX, 18446744073709549568U },
        { 18446744073709551616.0, INT64_MAX, UINT64_MAX },
        { 1e300, INT64_MAX, UINT64_MAX },
        { -1e300, INT64_MIN, 0 },
        { INFINITY, INT64_MAX, UINT64_MAX },
        { -INFINITY, INT64_MIN, 0 },
        { NAN, 0, 0 },
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        print_message("  %.17g\n", cases[i].value);
        assert_true(hs_saturate_round(cases[i].value) == cases[i].as_signed);
        assert_true(hs_saturate_round_unsigned(cases[i].value) == cases[i].as_unsigned);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums),
        cmocka_unit_test(unsigned_numbers),
        cmocka_unit_test(doubles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
