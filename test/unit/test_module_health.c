/*
 * Tests of symbol/module_health on this program, which was built with all information.
 * test/e2e/test_doctor.py builds programs that lack some.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "symbol/module_health.h"

static void test_ourselves(void **state)
{
    (void)state;
    struct hs_module_health health;
    assert_int_equal(hs_module_health_look("/proc/self/exe", NULL, &health), 0);
    assert_true(health.has_code && health.has_build_id);
    assert_int_equal(health.tables, HS_UNWIND_TABLES_SORTED);
    /* All code except the start-up code has rules, and nothing counts twice. */
    assert_true(health.covered_bytes <= health.code_bytes);
    assert_true(health.covered_bytes >= health.code_bytes / 10 * 9);
    assert_int_equal(health.names, HS_MODULE_NAMES_DEBUG);
    assert_string_equal(health.debug_path, "");
}

static void test_what_is_no_module(void **state)
{
    (void)state;
    struct hs_module_health health;
    assert_int_equal(hs_module_health_look("/no/such/file", NULL, &health), -ENOENT);
    assert_int_equal(hs_module_health_look("/dev/null", NULL, &health), -ENOEXEC);
    assert_int_equal(hs_module_health_look("", NULL, &health), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ourselves),
        cmocka_unit_test(test_what_is_no_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
