/*
 * Tests of util/proc_counters: which counters the files of a process contain, and which they do
 * not.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/proc_counters.h"

#define TICK_NS UINT64_C(10000000)

static const char status_text[] = "Name:\tprog\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t4711\n"
                                  "Pid:\t4711\nPPid:\t1\nTracerPid:\t0\nUid:\t10\t1000\t10\t10\n"
                                  "NSpid:\t4711\t12\t1\nVmPeak:\t  900 kB\nVmSize:\t  800 kB\n"
                                  "VmLck:\t   4 kB\nVmHWM:\t  300 kB\nVmRSS:\t  200 kB\n"
                                  "RssAnon:\t  120 kB\nRssFile:\t   60 kB\nRssShmem:\t   20 kB\n"
                                  "VmSwap:\t   7 kB\nThreads:\t3\n";

static void test_status(void **state)
{
    (void)state;
    struct hs_counters counters = { 0 };
    struct hs_proc_identity identity = { .uid = -1 };
    assert_int_equal(
        hs_counters_parse_status(status_text, strlen(status_text), &counters, &identity), 0);
    const struct {
        enum hs_counter counter;
        int64_t value;
    } expected[] = {
        { HS_COUNTER_VM_SIZE, 800 * 1024 },  { HS_COUNTER_RSS, 200 * 1024 },
        { HS_COUNTER_RSS_ANON, 120 * 1024 }, { HS_COUNTER_RSS_FILE, 60 * 1024 },
        { HS_COUNTER_RSS_SHMEM, 20 * 1024 }, { HS_COUNTER_SWAP, 7 * 1024 },
        { HS_COUNTER_LOCKED, 4 * 1024 },     { HS_COUNTER_RSS_PEAK, 300 * 1024 },
        { HS_COUNTER_THREADS, 3 },
    };
    uint32_t mask = 0;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_int_equal(counters.values[expected[i].counter], expected[i].value);
        mask |= HS_COUNTER_BIT(expected[i].counter);
    }
    assert_int_equal(counters.has_mask, mask);
    assert_int_equal(identity.uid, 1000);
    assert_int_equal(identity.nspid_count, 2);
    assert_int_equal(identity.nspids[0], 12);
    assert_int_equal(identity.nspids[1], 1);
}

/* A zombie and a kernel thread have no memory. And a text that is no such file. */
static void test_status_without_memory(void **state)
{
    (void)state;
    struct hs_counters counters = { 0 };
    const char *zombie = "Name:\tprog\nState:\tZ (zombie)\nTgid:\t7\nThreads:\t1\n";
    assert_int_equal(hs_counters_parse_status(zombie, strlen(zombie), &counters, NULL), 0);
    assert_int_equal(counters.has_mask, HS_COUNTER_BIT(HS_COUNTER_THREADS));
    counters = (struct hs_counters){ 0 };
    assert_int_equal(hs_counters_parse_status("VmRSS: x kB\n", 12, &counters, NULL), -EINVAL);
    assert_int_equal(counters.has_mask, 0);
    assert_int_equal(hs_counters_parse_status("", 0, &counters, NULL), -EINVAL);
}

static void test_stat(void **state)
{
    (void)state;
    const char *text = "4711 (a) b) S 12 13 14 0 -1 0 100 5 6 0 250 70 9 9 20 0 3 0 987654 1 1";
    struct hs_counters counters = { 0 };
    struct hs_proc_identity identity = { 0 };
    assert_int_equal(hs_counters_parse_stat(text, strlen(text), TICK_NS, &counters, &identity), 0);
    assert_int_equal(counters.values[HS_COUNTER_MINOR_FAULTS], 100);
    assert_int_equal(counters.values[HS_COUNTER_MAJOR_FAULTS], 6);
    assert_int_equal(counters.values[HS_COUNTER_RUNTIME_USER], 2500000000);
    assert_int_equal(counters.values[HS_COUNTER_RUNTIME_KERNEL], 700000000);
    assert_int_equal(identity.child_faults, 5);
    assert_int_equal(identity.start_ticks, 987654);
    assert_int_equal(identity.ppid, 12);
}

/* Numbers that no kernel writes are still numbers. */
static void test_absurd_numbers(void **state)
{
    (void)state;
    const char *text = "1 (a) S 1 1 1 0 -1 0 99999999999999999999 0 0 0 18446744073709551615 0 0";
    const char *huge = "Tgid: 1\nVmRSS: 18446744073709551615 kB\n";
    struct hs_counters counters = { 0 };
    assert_int_equal(hs_counters_parse_stat(text, strlen(text), TICK_NS, &counters, NULL), 0);
    assert_int_equal(counters.values[HS_COUNTER_MINOR_FAULTS], INT64_MAX);
    assert_int_equal(counters.values[HS_COUNTER_RUNTIME_USER], INT64_MAX);
    assert_int_equal(hs_counters_parse_status(huge, strlen(huge), &counters, NULL), 0);
    assert_int_equal(counters.values[HS_COUNTER_RSS], INT64_MAX);
}

static void test_oom_score_adj(void **state)
{
    (void)state;
    struct hs_counters counters = { 0 };
    assert_int_equal(hs_counters_parse_oom_score_adj("-1000\n", 6, &counters), 0);
    assert_int_equal(counters.values[HS_COUNTER_OOM_SCORE_ADJ], -1000);
    assert_int_equal(hs_counters_parse_oom_score_adj("\n", 1, &counters), -EINVAL);
}

static void test_rollup(void **state)
{
    (void)state;
    const char *text = "5591-7fff ---p 00000000 00:00 0    [rollup]\nRss:  1620 kB\nPss:  247 kB\n"
                       "Pss_Dirty:  116 kB\nPss_Anon:  110 kB\nPss_File:  131 kB\n"
                       "Pss_Shmem:  6 kB\nSwapPss:  2 kB\n";
    struct hs_counters counters = { 0 };
    assert_int_equal(hs_counters_parse_rollup(text, strlen(text), &counters), 0);
    assert_int_equal(counters.values[HS_COUNTER_SMAPS_RSS], 1620 * 1024);
    assert_int_equal(counters.values[HS_COUNTER_PSS], 247 * 1024);
    assert_int_equal(counters.values[HS_COUNTER_PSS_ANON], 110 * 1024);
    assert_int_equal(counters.values[HS_COUNTER_PSS_FILE], 131 * 1024);
    assert_int_equal(counters.values[HS_COUNTER_PSS_SHMEM], 6 * 1024);
    assert_int_equal(counters.values[HS_COUNTER_SWAP_PSS], 2 * 1024);
    assert_int_equal(hs_counters_parse_rollup("", 0, &counters), -EINVAL);
}

static void test_ourselves(void **state)
{
    (void)state;
    struct hs_counters counters = { 0 };
    struct hs_proc_identity identity;
    assert_int_equal(hs_proc_read_counters("/proc", getpid(), &counters, &identity), 0);
    assert_int_equal(identity.pid, getpid());
    assert_int_equal(identity.ppid, getppid());
    assert_true(counters.values[HS_COUNTER_RSS] > 65536);
    assert_true(counters.values[HS_COUNTER_RSS] <= counters.values[HS_COUNTER_RSS_PEAK]);
    assert_int_equal(counters.values[HS_COUNTER_THREADS], 1);
    assert_int_equal(hs_proc_read_rollup("/proc", getpid(), &counters), 0);
    assert_true(counters.values[HS_COUNTER_PSS] > 0);
    assert_true(counters.values[HS_COUNTER_PSS] <= counters.values[HS_COUNTER_SMAPS_RSS]);
    assert_int_equal(hs_proc_read_counters("/nowhere", 1, &counters, NULL), -ENOENT);
}

static void test_each_counter_has_a_name(void **state)
{
    (void)state;
    for (unsigned i = 0; i < HS_COUNTER_N; i++) {
        assert_non_null(hs_counter_name(i));
        for (unsigned k = 0; k < i; k++) {
            assert_string_not_equal(hs_counter_name(i), hs_counter_name(k));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status),        cmocka_unit_test(test_status_without_memory),
        cmocka_unit_test(test_stat),          cmocka_unit_test(test_absurd_numbers),
        cmocka_unit_test(test_oom_score_adj), cmocka_unit_test(test_rollup),
        cmocka_unit_test(test_ourselves),     cmocka_unit_test(test_each_counter_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
