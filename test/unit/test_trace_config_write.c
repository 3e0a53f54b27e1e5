/*
 * trace_config_write.h: what is written reads back as the same recording.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "config/trace_config_write.h"
#include "util/buf.h"

static void fail_note(void *ctx, const char *text)
{
    (void)ctx;
    /* Of what the writer makes, nothing is without effect. */
    if (!strstr(text, "max_heapprofd_memory_kb")) {
        fail_msg("%s", text);
    }
}

static void assert_same_heaps(const struct hs_trace_wishes *a, const struct hs_trace_wishes *b)
{
    static const char *const names[] = { "libc.malloc", "pool.a", "pool.b", "gpu", "python.obj" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        uint64_t is = hs_heap_selection_interval(&a->heaps, names[i]);
        uint64_t was = hs_heap_selection_interval(&b->heaps, names[i]);
        is = is == HS_INTERVAL_SAME ? a->interval_bytes : is;
        was = was == HS_INTERVAL_SAME ? b->interval_bytes : was;
        if (is != was) {
            fail_msg("%s: %llu, not %llu", names[i], (unsigned long long)is,
                     (unsigned long long)was);
        }
    }
}

/* Writes, reads, and compares. Returns the text, of the next call at most. */
static const char *round_trip(const struct hs_trace_wishes *wishes,
                              const struct hs_sources_settings *sources)
{
    static struct hs_buf text;
    const struct hs_trace_config_notes notes = { .say = fail_note };
    struct hs_trace_config_error error = { "" };
    struct hs_trace_wishes read = { 0 };
    struct hs_sources_settings read_sources = { 0 };
    Hs__Pb__TraceConfig *config = NULL;
    hs_buf_deinit(&text);
    hs_buf_init(&text, NULL, NULL);
    hs_trace_config_write(wishes, sources, &text);
    if (hs_trace_config_read("it", hs_buf_text(&text), text.bytes, &notes, &config, &error) != 0 ||
        hs_trace_config_take(config, &notes, &read, &error) != 0) {
        fail_msg("%s\n%s", error.text, hs_buf_text(&text));
    }
    assert_same_heaps(&read, wishes);
    assert_int_equal(read.name_count, wishes->name_count);
    for (size_t i = 0; i < read.name_count; i++) {
        assert_string_equal(read.names[i], wishes->names[i]);
    }
    assert_int_equal(read.pid_count, wishes->pid_count);
    for (size_t i = 0; i < read.pid_count; i++) {
        assert_int_equal(read.pids[i], wishes->pids[i]);
    }
    assert_int_equal(read.is_all, wishes->is_all);
    assert_int_equal(read.is_taking_startup, wishes->is_taking_startup);
    assert_int_equal(read.is_taking_running, wishes->is_taking_running);
    assert_int_equal(read.min_anon_bytes, wishes->min_anon_bytes);
    assert_int_equal(read.duration_ns, wishes->duration_ns);
    assert_int_equal(read.dumps.every_ns, wishes->dumps.every_ns);
    assert_int_equal(read.dumps.phase_ns, wishes->dumps.phase_ns);
    assert_int_equal(read.dumps.is_max_in_samples, wishes->dumps.is_max_in_samples);
    assert_int_equal(read.limits.memory_bytes, wishes->limits.memory_bytes);
    assert_int_equal(read.limits.cpu_ns, wishes->limits.cpu_ns);
    assert_int_equal(read.skipped.count, wishes->skipped.count);
    assert_true(hs_trace_config_sources(config, &read_sources));
    assert_int_equal(read_sources.poll_ms, sources->poll_ms);
    assert_int_equal(read_sources.with_thread_names, sources->with_thread_names);
    assert_int_equal(read_sources.with_process_age, sources->with_process_age);
    assert_int_equal(read_sources.meminfo_ms, sources->meminfo_ms);
    assert_int_equal(read_sources.meminfo_mask, sources->meminfo_mask);
    assert_int_equal(read_sources.psi_ms, sources->psi_ms);
    hs__pb__trace_config__free_unpacked(config, NULL);
    return hs_buf_text(&text);
}

static struct hs_trace_wishes usual(void)
{
    static uint64_t pids[] = { 4711, 1 };
    return (struct hs_trace_wishes){ .interval_bytes = 4096,
                                     .pids = pids,
                                     .pid_count = 2,
                                     .is_taking_startup = true,
                                     .is_taking_running = true };
}

static void simple(void **state)
{
    (void)state;
    struct hs_sources_settings sources = hs_sources_default();
    struct hs_trace_wishes wishes = usual();
    const char *text = round_trip(&wishes, &sources);
    assert_null(strchr(text, '#'));
    assert_non_null(strstr(text, "      pid: 4711\n      pid: 1\n"));
    assert_non_null(strstr(text, "all_heaps: true"));
}

static void all_settings(void **state)
{
    (void)state;
    char quoted[] = "a \"b\"\\\n\xff*", plain[] = "redis-server";
    char *names[] = { quoted, plain };
    const char *const prefixes[] = { "/opt/x" };
    struct hs_sources_settings sources = { .poll_ms = 250,
                                           .meminfo_ms = 500,
                                           .psi_ms = 700,
                                           .meminfo_mask = UINT64_C(0x86),
                                           .with_process_age = true };
    struct hs_trace_wishes wishes = { .interval_bytes = 1,
                                      .names = names,
                                      .name_count = 2,
                                      .is_all = true,
                                      .is_taking_running = true,
                                      .min_anon_bytes = UINT64_C(7) << 20,
                                      .skipped = { prefixes, 1 },
                                      .duration_ns = UINT64_C(90000000000),
                                      .dumps = { .every_ns = UINT64_C(10000000000),
                                                 .phase_ns = UINT64_C(500000000),
                                                 .is_max_in_samples = true },
                                      .limits = { .memory_bytes = UINT64_C(64) << 20,
                                                  .cpu_ns = UINT64_C(30000000000) } };
    round_trip(&wishes, &sources);
}

static void select_heaps(struct hs_trace_wishes *wishes, const char *name, uint64_t interval_bytes)
{
    assert_null(hs_heap_selection_add(&wishes->heaps, name, strlen(name), interval_bytes));
}

static void heaps(void **state)
{
    (void)state;
    struct hs_sources_settings sources = hs_sources_default();
    static const struct {
        const char *names[3];
        uint64_t intervals[3];
        bool is_without_others;
    } cases[] = {
        { { "pool.*" }, { HS_INTERVAL_SAME }, true },
        { { "pool.*" }, { 65536 }, true },
        { { "libc.malloc", "pool.a" }, { 100, 200 }, true },
        { { "libc.malloc" }, { HS_INTERVAL_OFF }, false },
        { { "libc.malloc", "pool.a" }, { HS_INTERVAL_OFF, HS_INTERVAL_SAME }, true },
        { { "gpu", "pool.*" }, { HS_INTERVAL_OFF, 7 }, false },
        { { "*" }, { 9 }, false },
        { { "pool.a", "*" }, { HS_INTERVAL_SAME, 9 }, false },
        { { "libc.malloc", "*" }, { 100, 200 }, false },
        { { "python.obj" }, { 32768 }, false },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_trace_wishes wishes = usual();
        for (size_t j = 0; j < 3 && cases[i].names[j]; j++) {
            select_heaps(&wishes, cases[i].names[j], cases[i].intervals[j]);
        }
        wishes.heaps.is_without_others = cases[i].is_without_others;
        hs_heap_selection_settle(&wishes.heaps, &wishes.interval_bytes);
        assert_null(strchr(round_trip(&wishes, &sources), '#'));
    }
}

static void without_fields(void **state)
{
    (void)state;
    struct hs_sources_settings sources = { .poll_ms = 1000,
                                           .with_smaps_at_dumps = true,
                                           .is_without_types = true };
    struct hs_trace_wishes wishes = usual();
    wishes.dumps.is_at_peak = true;
    wishes.dumps.above_bytes = 7;
    wishes.limits.overhead_ppm = 10000;
    wishes.heaps.has_lifetimes = wishes.heaps.is_native_only = true;
    const char *text = round_trip(&wishes, &sources);
    size_t count = 0;
    for (const char *at = text; (at = strchr(at, '#')); at++) {
        count++;
    }
    assert_int_equal(count, 7);
    wishes = usual();
    select_heaps(&wishes, "pool.a", HS_INTERVAL_SAME);
    select_heaps(&wishes, "pool.*", HS_INTERVAL_OFF);
    hs_heap_selection_settle(&wishes.heaps, &wishes.interval_bytes);
    struct hs_buf buf = HS_BUF_INIT;
    sources = hs_sources_default();
    hs_trace_config_write(&wishes, &sources, &buf);
    assert_non_null(strstr(hs_buf_text(&buf), "# not in a TraceConfig: the order of"));
    hs_buf_deinit(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simple),
        cmocka_unit_test(all_settings),
        cmocka_unit_test(heaps),
        cmocka_unit_test(without_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
