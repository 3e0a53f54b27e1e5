/* Tests of util/proc_system: meminfo and pressure, of this kernel and of others. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/proc_system.h"

static void test_meminfo(void **state)
{
    (void)state;
    const char *text = "MemTotal:       24684092 kB\nMemFree:  5 kB\nActive:   7 kB\n"
                       "Active(anon):     3 kB\nHugePages_Total:       9\nCmaFree:  x kB\n";
    struct hs_meminfo meminfo;
    assert_int_equal(hs_meminfo_parse(text, strlen(text), &meminfo), 0);
    assert_int_equal(meminfo.values_bytes[1], UINT64_C(24684092) * 1024);
    assert_int_equal(meminfo.values_bytes[2], 5 * 1024);
    assert_int_equal(meminfo.values_bytes[7], 7 * 1024);
    assert_int_equal(meminfo.values_bytes[9], 3 * 1024);
    assert_int_equal(meminfo.has_mask, 1U << 1 | 1U << 2 | 1U << 7 | 1U << 9);
    assert_int_equal(hs_meminfo_parse("x", 1, &meminfo), -EINVAL);
    assert_int_equal(hs_meminfo_read("/proc", &meminfo), 0);
    assert_true(meminfo.values_bytes[1] > meminfo.values_bytes[2]);
    assert_int_equal(hs_meminfo_read("/nowhere", &meminfo), -ENOENT);
}

static void test_names(void **state)
{
    (void)state;
    assert_null(hs_meminfo_name(0));
    assert_string_equal(hs_meminfo_name(3), "MemAvailable");
    assert_string_equal(hs_meminfo_name(HS_MEMINFO_N - 1), "CmaFree");
    assert_null(hs_meminfo_name(HS_MEMINFO_N));
    assert_string_equal(hs_pressure_name(HS_PRESSURE_MEMORY_FULL), "psi.mem.full");
}

static void test_pressure(void **state)
{
    (void)state;
    const char *text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=59146\n"
                       "full avg10=1.00 avg60=0.00 avg300=0.00 total=18446744073709551615\n";
    struct hs_pressures pressures = { 0 };
    assert_int_equal(hs_pressure_parse(text, strlen(text), HS_PRESSURE_MEMORY_SOME, &pressures), 0);
    assert_int_equal(pressures.total_ns[HS_PRESSURE_MEMORY_SOME], 59146000);
    assert_true(pressures.total_ns[HS_PRESSURE_MEMORY_FULL] == UINT64_MAX);
    assert_int_equal(pressures.has_mask, 3U << HS_PRESSURE_MEMORY_SOME);
    const char *odd = "some\nfull total=3\nsome total=\n total=4\n";
    pressures = (struct hs_pressures){ 0 };
    assert_int_equal(hs_pressure_parse(odd, strlen(odd), HS_PRESSURE_CPU_SOME, &pressures), 0);
    assert_int_equal(pressures.has_mask, 1U << HS_PRESSURE_CPU_FULL);
    assert_int_equal(hs_pressure_parse("", 0, HS_PRESSURE_CPU_SOME, &pressures), -EINVAL);
}

/* Not every kernel has CONFIG_PSI. */
static void test_kernel_without_pressure(void **state)
{
    (void)state;
    struct hs_pressures pressures;
    assert_int_equal(hs_pressure_read("/nowhere", &pressures), -ENOENT);
    assert_int_equal(pressures.has_mask, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meminfo),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_pressure),
        cmocka_unit_test(test_kernel_without_pressure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
