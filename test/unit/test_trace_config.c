/* Configs: the meaning of each field, what is refused, and both forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/trace_config.h"

static char noted[4096];

static void say(void *ctx, const char *text)
{
    (void)ctx;
    strncat(noted, text, sizeof(noted) - strlen(noted) - 1);
    strncat(noted, "\n", sizeof(noted) - strlen(noted) - 1);
}

static const struct hs_trace_config_notes notes = { .say = say };

static Hs__Pb__TraceConfig *read_config(const char *text)
{
    struct hs_trace_config_error error = { "" };
    Hs__Pb__TraceConfig *config = NULL;
    noted[0] = 0;
    if (hs_trace_config_read("C", text, strlen(text), &notes, &config, &error) != 0) {
        fail_msg("%s", error.text);
    }
    return config;
}

/* Fields of the heap profiler, inside a config. */
static Hs__Pb__TraceConfig *heap_config(const char *fields)
{
    char text[2048];
    snprintf(text, sizeof(text),
             "duration_ms: 1500 data_sources { config { name: 'android.heapprofd' "
             "heapprofd_config { %s } } }",
             fields);
    return read_config(text);
}

static void test_fields(void **state)
{
    (void)state;
    struct hs_trace_config_error error = { "" };
    struct hs_trace_wishes w;
    Hs__Pb__TraceConfig *c = heap_config(
        "sampling_interval_bytes: 512 process_cmdline: 'a' process_cmdline: 'b*' pid: 7 all: true "
        "no_startup: true min_anonymous_memory_kb: 3 max_heapprofd_cpu_secs: 9 heaps: 'x' heaps: "
        "'libc.malloc' heap_sampling_intervals: [5, 6] max_heapprofd_memory_kb: 1 "
        "continuous_dump_config { dump_phase_ms: 20 dump_interval_ms: 1 } dump_at_max: true");
    assert_int_equal(hs_trace_config_take(c, &notes, &w, &error), 0);
    assert_int_equal(w.interval_bytes, 6);
    assert_int_equal(w.name_count, 2);
    assert_string_equal(w.names[1], "b*");
    assert_int_equal(w.pid_count, 1);
    assert_int_equal(w.pids[0], 7);
    assert_true(w.is_all && w.is_taking_running && !w.is_taking_startup);
    assert_int_equal(w.min_anon_bytes, 3072);
    assert_int_equal(w.limits.cpu_ns, UINT64_C(9000000000));
    assert_int_equal(w.limits.memory_bytes, HS_BUDGET_MEMORY_MIN);
    assert_int_equal(w.duration_ns, UINT64_C(1500000000));
    assert_true(w.dumps.is_max_in_samples && !w.dumps.is_at_peak);
    assert_int_equal(w.dumps.every_ns, HS_DUMP_EVERY_MIN_NS);
    assert_int_equal(w.dumps.phase_ns, 20000000);
    hs__pb__trace_config__free_unpacked(c, NULL);
}

static void test_heaps(void **state)
{
    static const struct {
        const char *fields, *text;
        uint64_t interval_bytes;
    } cases[] = {
        { "sampling_interval_bytes: 7", "libc.malloc,*=0", 7 },
        { "sampling_interval_bytes: 7 all_heaps: true", "", 7 },
        { "sampling_interval_bytes: 7 heaps: 'a' heaps: 'b'", "libc.malloc=0,a,b,*=0", 7 },
        { "sampling_interval_bytes: 7 all_heaps: true exclude_heaps: 'libc.malloc'",
          "libc.malloc=0", 7 },
        { "sampling_interval_bytes: 7 heaps: 'a' exclude_heaps: 'a' exclude_heaps: 'b'",
          "libc.malloc=0,b=0,a,*=0", 7 },
        { "heaps: 'a' heaps: 'libc.malloc' heap_sampling_intervals: [5, 6]", "libc.malloc,a=5,*=0",
          6 },
        { "heaps: 'a' heap_sampling_intervals: 5", "libc.malloc=0,a,*=0", 5 },
        { "sampling_interval_bytes: 7 all_heaps: true heaps: 'a' heap_sampling_intervals: 5",
          "libc.malloc,a=5", 7 },
        { "sampling_interval_bytes: 7 heaps: '' heaps: 'a'", "libc.malloc=0,a,*=0", 7 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[HS_CTL_HEAPS_BYTES];
        struct hs_trace_config_error error = { "" };
        struct hs_trace_wishes w;
        Hs__Pb__TraceConfig *c = heap_config(cases[i].fields);
        print_message("  %s\n", cases[i].fields);
        assert_int_equal(hs_trace_config_take(c, &notes, &w, &error), 0);
        hs_heap_selection_text(&w.heaps, text);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(w.interval_bytes, cases[i].interval_bytes);
        hs__pb__trace_config__free_unpacked(c, NULL);
    }
}

static void test_rejected(void **state)
{
    static const struct {
        const char *fields, *words;
    } cases[] = {
        { "", "sampling_interval_bytes" },
        { "sampling_interval_bytes: 0", "sampling_interval_bytes" },
        { "sampling_interval_bytes: 1 exclude_heaps: 'libc.malloc'", "selects no heap" },
        { "sampling_interval_bytes: 1 all_heaps: true exclude_heaps: '*'", "selects no heap" },
        { "sampling_interval_bytes: 1 heaps: 'a' heap_sampling_intervals: 1099511627777",
          "too large" },
        { "sampling_interval_bytes: 1 heaps: 'libc.malloc' heap_sampling_intervals: [1, 2]",
          "2 values for 1 heaps" },
        { "sampling_interval_bytes: 1 heaps: 'libc.malloc' heap_sampling_intervals: 0",
          "no interval" },
        { "sampling_interval_bytes: 1 shmem_size_bytes: 12288", "power of two" },
        { "sampling_interval_bytes: 1 shmem_size_bytes: 4096", "power of two" },
        { "sampling_interval_bytes: 1 no_startup: true no_running: true", "no process" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_trace_config_error error = { "" };
        struct hs_trace_wishes w;
        Hs__Pb__TraceConfig *c = heap_config(cases[i].fields);
        print_message("  %s\n", cases[i].fields);
        assert_int_equal(hs_trace_config_take(c, &notes, &w, &error), HS_TRACE_CONFIG_E_WRONG);
        assert_non_null(strstr(error.text, cases[i].words));
        hs__pb__trace_config__free_unpacked(c, NULL);
    }
}

static void test_binary_is_the_same(void **state)
{
    (void)state;
    struct hs_trace_config_error error = { "" };
    struct hs_trace_wishes w;
    uint8_t bytes[512];
    Hs__Pb__TraceConfig *c = heap_config("sampling_interval_bytes: 77"), *again = NULL;
    size_t count = hs__pb__trace_config__pack(c, bytes);
    hs__pb__trace_config__free_unpacked(c, NULL);
    assert_int_equal(hs_trace_config_read("C", bytes, count, &notes, &again, &error), 0);
    assert_int_equal(hs_trace_config_take(again, &notes, &w, &error), 0);
    assert_int_equal(w.interval_bytes, 77);
    hs__pb__trace_config__free_unpacked(again, NULL);
    assert_int_equal(hs_trace_config_read("C", bytes, count - 1, &notes, &again, &error),
                     HS_TRACE_CONFIG_E_WRONG);
    assert_non_null(strstr(error.text, "neither"));
}

static void test_unknown(void **state)
{
    (void)state;
    struct hs_trace_config_error error = { "" };
    Hs__Pb__TraceConfig *c = read_config("duration_ms: 1\nstatsd_metadata { a: 1 }\n"
                                         "data_sources { config { name: 'linux.ftrace' } }");
    struct hs_trace_wishes w;
    assert_non_null(strstr(noted, "line 2: TraceConfig.statsd_metadata"));
    assert_int_equal(hs_trace_config_take(c, &notes, &w, &error), HS_TRACE_CONFIG_E_WRONG);
    assert_non_null(strstr(noted, "'linux.ftrace' is not recorded"));
    hs__pb__trace_config__free_unpacked(c, NULL);
    assert_int_equal(hs_trace_config_read("C", "durtion_ms: 1", 13, &notes, &c, &error),
                     HS_TRACE_CONFIG_E_WRONG);
    assert_string_equal(error.text, "C:1:1: TraceConfig has no field 'durtion_ms'; did you mean "
                                    "'duration_ms'?");
}

static void test_sources(void **state)
{
    (void)state;
    struct hs_sources_settings s;
    Hs__Pb__TraceConfig *c = read_config(
        "data_sources { config { name: 'linux.process_stats' process_stats_config { "
        "proc_stats_poll_ms: 5 scan_smaps_rollup: true record_thread_names: true } } } "
        "data_sources { config { name: 'linux.sys_stats' sys_stats_config { meminfo_period_ms: 500 "
        "meminfo_counters: [MEMINFO_MEM_FREE, 3] psi_period_ms: 1000 } } }");
    assert_true(hs_trace_config_sources(c, &s));
    assert_int_equal(s.poll_ms, HS_SOURCES_POLL_MS_MIN);
    assert_true(s.with_smaps_rollup && s.with_thread_names && !s.with_process_age);
    assert_int_equal(s.meminfo_ms, 500);
    assert_int_equal(s.psi_ms, 1000);
    assert_int_equal(s.meminfo_mask, 1 << 2 | 1 << 3);
    hs__pb__trace_config__free_unpacked(c, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_heaps),
        cmocka_unit_test(test_rejected),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_binary_is_the_same),
        cmocka_unit_test(test_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
