/*
 * Assertions (rt/check.h) in a release build: their conditions are not evaluated, and what only
 * they use gives no warning.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Whatever the build is. */
#ifndef NDEBUG
#define NDEBUG
#endif
#include "rt/check.h"

_Static_assert(!HS_HAS_CHECKS, "a release build has no is_valid()");

static int evaluated_count;

static int evaluate(void)
{
    evaluated_count++;
    return 0;
}

static void test_nothing_is_evaluated(void **state)
{
    (void)state;
    int only_asserted = 3;
    HS_ASSERT(only_asserted == 4);
    HS_ASSERT_SLOW(only_asserted == 4);
    HS_ASSERT(evaluate() == 1);
    HS_ASSERT_SLOW(evaluate() == 1);
    assert_int_equal(evaluated_count, 0);
    assert_int_equal(evaluate(), 0);
    assert_int_equal(evaluated_count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_evaluated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
