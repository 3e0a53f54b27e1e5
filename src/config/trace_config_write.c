/*
 * Writes a config: see trace_config_write.h.
 */
#include "config/trace_config_write.h"

#include <inttypes.h>
#include <string.h>

#include "config/textproto.h"
#include "util/buf.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)

static void put_number(struct hs_buf *buf, const char *field, uint64_t number)
{
    hs_buf_printf(buf, "      %s: %" PRIu64 "\n", field, number);
}

static void put_true(struct hs_buf *buf, const char *field, bool is_true)
{
    if (is_true) {
        hs_buf_printf(buf, "      %s: true\n", field);
    }
}

static void put_text(struct hs_buf *buf, const char *field, const char *text, size_t bytes)
{
    hs_buf_printf(buf, "      %s: ", field);
    hs_textproto_quote(buf, text, bytes);
    hs_buf_char(buf, '\n');
}

/* A time in milliseconds, which a field has at least 1 of. */
static uint64_t ms_of(uint64_t time_ns)
{
    uint64_t ms = (time_ns + NS_PER_MS - 1) / NS_PER_MS;
    return ms < UINT32_MAX ? ms : UINT32_MAX;
}

/* --- heaps ------------------------------------------------------------------------------------ */

static size_t name_bytes(const struct hs_heap_rule_v2 *rule)
{
    return strnlen(rule->pattern, sizeof(rule->pattern));
}

static void put_heap(struct hs_buf *buf, const char *name, size_t bytes, uint64_t interval_bytes)
{
    put_text(buf, "heaps", name, bytes);
    put_number(buf, "heap_sampling_intervals", interval_bytes);
}

/* Everything that is left out comes first, as the reader takes it. */
static void put_heaps(struct hs_buf *buf, const struct hs_trace_wishes *wishes)
{
    const struct hs_heap_selection *heaps = &wishes->heaps;
    bool has_others_interval = !heaps->is_without_others && heaps->other_interval_bytes > 0;
    if (heaps->is_without_malloc && !heaps->is_without_others) {
        put_text(buf, "exclude_heaps", HS_HEAP_MALLOC, strlen(HS_HEAP_MALLOC));
    }
    for (uint32_t i = 0; i < heaps->rule_count; i++) {
        if (heaps->rules[i].interval_bytes == HS_INTERVAL_OFF) {
            put_text(buf, "exclude_heaps", heaps->rules[i].pattern, name_bytes(&heaps->rules[i]));
        }
    }
    if (!heaps->is_without_malloc && (heaps->is_without_others || has_others_interval)) {
        put_heap(buf, HS_HEAP_MALLOC, strlen(HS_HEAP_MALLOC), wishes->interval_bytes);
    }
    for (uint32_t i = 0; i < heaps->rule_count; i++) {
        uint64_t interval_bytes = heaps->rules[i].interval_bytes;
        if (interval_bytes != HS_INTERVAL_OFF) {
            put_heap(buf, heaps->rules[i].pattern, name_bytes(&heaps->rules[i]),
                     interval_bytes == HS_INTERVAL_SAME ? wishes->interval_bytes : interval_bytes);
        }
    }
    if (has_others_interval) {
        put_heap(buf, "*", 1, heaps->other_interval_bytes);
    }
    put_true(buf, "all_heaps", !heaps->is_without_others);
}

/* --- the heap profiler ------------------------------------------------------------------------ */

static void put_processes(struct hs_buf *buf, const struct hs_trace_wishes *wishes)
{
    for (size_t i = 0; i < wishes->pid_count; i++) {
        put_number(buf, "pid", wishes->pids[i]);
    }
    for (size_t i = 0; i < wishes->name_count; i++) {
        put_text(buf, "process_cmdline", wishes->names[i], strlen(wishes->names[i]));
    }
    put_true(buf, "all", wishes->is_all);
    put_true(buf, "no_startup", !wishes->is_taking_startup);
    put_true(buf, "no_running", !wishes->is_taking_running);
    if (wishes->min_anon_bytes > 0) {
        uint64_t kib = wishes->min_anon_bytes / 1024;
        put_number(buf, "min_anonymous_memory_kb", kib < UINT32_MAX ? kib : UINT32_MAX);
    }
    for (size_t i = 0; i < wishes->skipped.count; i++) {
        const char *prefix = wishes->skipped.prefixes[i];
        put_text(buf, "skip_symbol_prefix", prefix, strlen(prefix));
    }
}

static void put_limits(struct hs_buf *buf, const struct hs_trace_wishes *wishes)
{
    if (wishes->limits.memory_bytes > 0) {
        uint64_t kib = wishes->limits.memory_bytes / 1024;
        put_number(buf, "max_heapprofd_memory_kb", kib < UINT32_MAX ? kib : UINT32_MAX);
    }
    if (wishes->limits.cpu_ns > 0) {
        put_number(buf, "max_heapprofd_cpu_secs", wishes->limits.cpu_ns / NS_PER_S);
    }
}

static void put_dumps(struct hs_buf *buf, const struct hs_dump_schedule *dumps)
{
    put_true(buf, "dump_at_max", dumps->is_max_in_samples);
    if (dumps->every_ns > 0) {
        hs_buf_str(buf, "      continuous_dump_config {\n");
        hs_buf_printf(buf, "        dump_phase_ms: %" PRIu64 "\n", ms_of(dumps->phase_ns));
        hs_buf_printf(buf, "        dump_interval_ms: %" PRIu64 "\n", ms_of(dumps->every_ns));
        hs_buf_str(buf, "      }\n");
    }
}

static void put_profiler(struct hs_buf *buf, const struct hs_trace_wishes *wishes)
{
    hs_buf_str(buf, "data_sources {\n  config {\n    name: \"android.heapprofd\"\n"
                    "    heapprofd_config {\n");
    put_number(buf, "sampling_interval_bytes", wishes->interval_bytes);
    put_processes(buf, wishes);
    put_heaps(buf, wishes);
    put_limits(buf, wishes);
    put_dumps(buf, &wishes->dumps);
    hs_buf_str(buf, "    }\n  }\n}\n");
}

/* --- other sources ---------------------------------------------------------------------------- */

static void put_process_stats(struct hs_buf *buf, const struct hs_sources_settings *sources)
{
    hs_buf_str(buf, "data_sources {\n  config {\n    name: \"linux.process_stats\"\n"
                    "    process_stats_config {\n");
    put_true(buf, "scan_all_processes_on_start", sources->scan_all_on_start);
    put_true(buf, "record_thread_names", sources->with_thread_names);
    if (sources->poll_ms > 0) {
        put_number(buf, "proc_stats_poll_ms", sources->poll_ms);
    }
    put_true(buf, "scan_smaps_rollup", sources->with_smaps_rollup);
    put_true(buf, "record_process_age", sources->with_process_age);
    put_true(buf, "record_process_runtime", sources->with_process_runtime);
    hs_buf_str(buf, "    }\n  }\n}\n");
}

static void put_sys_stats(struct hs_buf *buf, const struct hs_sources_settings *sources)
{
    if (sources->meminfo_ms == 0 && sources->psi_ms == 0) {
        return;
    }
    hs_buf_str(buf, "data_sources {\n  config {\n    name: \"linux.sys_stats\"\n"
                    "    sys_stats_config {\n");
    if (sources->meminfo_ms > 0) {
        put_number(buf, "meminfo_period_ms", sources->meminfo_ms);
    }
    for (unsigned i = 0; i < 64; i++) {
        if (sources->meminfo_mask & (UINT64_C(1) << i)) {
            put_number(buf, "meminfo_counters", i);
        }
    }
    if (sources->psi_ms > 0) {
        put_number(buf, "psi_period_ms", sources->psi_ms);
    }
    hs_buf_str(buf, "    }\n  }\n}\n");
}

/* --- what has no field ------------------------------------------------------------------------ */

void hs_trace_config_write_missing(struct hs_buf *buf, const char *setting)
{
    hs_buf_printf(buf, "# not in a TraceConfig: %s\n", setting);
}

/* Is a heap left out by a rule that comes behind one that keeps some heaps? The reader takes what
 * is left out first. */
static bool has_late_exclusion(const struct hs_heap_selection *heaps)
{
    bool has_kept = false;
    for (uint32_t i = 0; i < heaps->rule_count; i++) {
        bool is_left_out = heaps->rules[i].interval_bytes == HS_INTERVAL_OFF;
        if (is_left_out && has_kept) {
            return true;
        }
        has_kept |= !is_left_out;
    }
    return false;
}

static void put_missing(struct hs_buf *buf, const struct hs_trace_wishes *wishes,
                        const struct hs_sources_settings *sources)
{
    const struct {
        bool is_set;
        const char *setting;
    } all[] = {
        { wishes->dumps.is_at_peak, "a snapshot when live memory reaches a new peak" },
        { wishes->dumps.above_bytes > 0, "a snapshot when live memory rises above a size" },
        { wishes->limits.overhead_ppm > 0, "a limit of the share of CPU time (--max-overhead)" },
        { wishes->heaps.has_lifetimes, "the lifetimes of freed blocks (--lifetimes)" },
        { wishes->heaps.is_native_only, "native code only (--native-only)" },
        { has_late_exclusion(&wishes->heaps), "the order of --heaps and --exclude-heaps" },
        { sources->with_smaps_at_dumps, "the memory mappings at each snapshot (--smaps)" },
        { sources->is_without_types, "to leave out the types of blocks (--no-types)" },
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].is_set) {
            hs_trace_config_write_missing(buf, all[i].setting);
        }
    }
}

void hs_trace_config_write(const struct hs_trace_wishes *wishes,
                           const struct hs_sources_settings *sources, struct hs_buf *buf)
{
    put_missing(buf, wishes, sources);
    hs_buf_str(buf, "buffers {\n  size_kb: 63488\n}\n");
    put_profiler(buf, wishes);
    put_process_stats(buf, sources);
    put_sys_stats(buf, sources);
    if (wishes->duration_ns > 0) {
        hs_buf_printf(buf, "duration_ms: %" PRIu64 "\n", ms_of(wishes->duration_ns));
    }
    hs_buf_str(buf, "write_into_file: true\n");
}
