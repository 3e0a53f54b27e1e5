/*
 * Reads configs, and translates their data sources other than the heap profiler: see
 * trace_config.h.
 */
#include "config/trace_config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/textproto.h"

/* Fields that Perfetto has, and that have no effect on what heapscope records. */
static const struct {
    const char *message, *fields;
} known[] = {
    { "TraceConfig",
      " statsd_metadata statsd_logging enable_extra_guardrails lockdown_mode producers "
      "deferred_start trigger_config activate_triggers allow_user_build_tracing compress_from_cli "
      "notify_traceur bugreport_score bugreport_filename incident_report_config "
      "guardrail_overrides "
      "trace_uuid_msb trace_uuid_lsb trace_filter android_report_config cmd_trace_start_delay "
      "session_semaphores priority_boost exclusive_prio no_flush_before_write_into_file "
      "prefer_suspend_clock_for_duration data_source_stop_timeout_ms compression write_flush_mode "
      "fflush_post_write trace_all_machines output_path_append " },
    { "BufferConfig",
      " page_size transfer_on_clone clear_before_clone experimental_mode trigger_name " },
    { "DataSource", " producer_name_regex_filter machine_name_filter " },
    { "DataSourceConfig",
      " prefer_suspend_clock_for_duration legacy_config for_testing ftrace_config chrome_config "
      "inode_file_config android_power_config android_log_config packages_list_config "
      "java_hprof_config perf_event_config vulkan_memory_config track_event_config "
      "android_polled_state_config interceptor_config gpu_counter_config system_info_config "
      "network_packet_trace_config protolog_config app_wakelocks_config cpu_per_uid_config " },
    { "HeapprofdConfig", " idle_allocations no_filter " },
    { "ProcessStatsConfig", " quirks resolve_process_fds " },
    { "SysStatsConfig",
      " vmstat_period_ms vmstat_counters stat_period_ms stat_counters devfreq_period_ms "
      "cpufreq_period_ms buddyinfo_period_ms diskstat_period_ms thermal_period_ms "
      "cpuidle_period_ms gpufreq_period_ms slab_period_ms fork_period_ms " },
    { "BuiltinDataSource",
      " disable_clock_snapshotting disable_trace_config disable_system_info "
      "disable_service_events disable_chunk_usage_histograms disable_extension_descriptors "
      "prefer_suspend_clock_for_snapshot " },
};

static void note(const struct hs_trace_config_notes *notes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void note(const struct hs_trace_config_notes *notes, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (notes && notes->say) {
        notes->say(notes->ctx, text);
    }
}

static bool is_known(void *ctx, const char *message, const char *field)
{
    char word[160];
    (void)ctx;
    if (snprintf(word, sizeof(word), " %s ", field) >= (int)sizeof(word)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(known[i].message, message) == 0 && strstr(known[i].fields, word)) {
            return true;
        }
    }
    return false;
}

static void on_skipped(void *ctx, const char *message, const char *field, unsigned line)
{
    note(ctx, "line %u: %s.%s has no effect here", line, message, field);
}

/* A binary message contains bytes that no text contains, for example the tag and the length of its
 * first submessage. */
static bool is_text(const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if ((data[i] < ' ' && (data[i] < '\t' || data[i] > '\r')) || data[i] == 0x7F) {
            return false;
        }
    }
    return true;
}

int hs_trace_config_read(const char *name, const void *data, size_t bytes,
                         const struct hs_trace_config_notes *notes,
                         Hs__Pb__TraceConfig **ret_config, struct hs_trace_config_error *ret_error)
{
    if (!is_text(data, bytes)) {
        *ret_config = hs__pb__trace_config__unpack(NULL, bytes, data);
        if (!*ret_config) {
            snprintf(ret_error->text, sizeof(ret_error->text),
                     "%s: not a TraceConfig, neither as text nor in binary form", name);
        }
        return *ret_config ? 0 : HS_TRACE_CONFIG_E_WRONG;
    }
    const struct hs_textproto_reader reader = { .is_known = is_known,
                                                .on_skipped = on_skipped,
                                                .ctx = (void *)(uintptr_t)notes };
    struct hs_textproto_error error;
    ProtobufCMessage *message = NULL;
    int r = hs_textproto_read(&hs__pb__trace_config__descriptor, &reader, data, bytes, &message,
                              &error);
    if (r > 0) {
        snprintf(ret_error->text, sizeof(ret_error->text), "%s:%u:%u: %s", name, error.line,
                 error.column, error.text);
        return HS_TRACE_CONFIG_E_WRONG;
    }
    *ret_config = (Hs__Pb__TraceConfig *)message;
    return r;
}

/* --- other data sources ----------------------------------------------------------------------- */

/* A period within what the sources support; 0 stays 0. */
static uint32_t clamp_period(uint32_t ms)
{
    return ms > 0 && ms < HS_SOURCES_POLL_MS_MIN ? HS_SOURCES_POLL_MS_MIN
           : ms > HS_SOURCES_POLL_MS_MAX         ? HS_SOURCES_POLL_MS_MAX
                                                 : ms;
}

static void take_process_stats(const Hs__Pb__ProcessStatsConfig *config,
                               struct hs_sources_settings *settings)
{
    settings->poll_ms = clamp_period(config->proc_stats_poll_ms);
    settings->with_smaps_rollup = config->scan_smaps_rollup;
    settings->with_thread_names = config->record_thread_names;
    settings->with_process_age = config->record_process_age;
    settings->with_process_runtime = config->record_process_runtime;
    settings->scan_all_on_start = config->scan_all_processes_on_start;
}

static void take_sys_stats(const Hs__Pb__SysStatsConfig *config,
                           struct hs_sources_settings *settings)
{
    settings->meminfo_ms = clamp_period(config->meminfo_period_ms);
    settings->psi_ms = clamp_period(config->psi_period_ms);
    for (size_t i = 0; i < config->n_meminfo_counters; i++) {
        if ((unsigned)config->meminfo_counters[i] < 64) {
            settings->meminfo_mask |= UINT64_C(1) << config->meminfo_counters[i];
        }
    }
}

bool hs_trace_config_sources(const Hs__Pb__TraceConfig *config,
                             struct hs_sources_settings *ret_settings)
{
    bool is_any = false;
    struct hs_sources_settings settings = { 0 };
    for (size_t i = 0; i < config->n_data_sources; i++) {
        const Hs__Pb__DataSourceConfig *it = config->data_sources[i]->config;
        const char *name = it && it->name ? it->name : "";
        bool is_process = strcmp(name, "linux.process_stats") == 0;
        bool is_sys = strcmp(name, "linux.sys_stats") == 0;
        if (is_process && it->process_stats_config) {
            take_process_stats(it->process_stats_config, &settings);
        }
        if (is_sys && it->sys_stats_config) {
            take_sys_stats(it->sys_stats_config, &settings);
        }
        is_any |= is_process || is_sys;
    }
    *ret_settings = settings;
    return is_any;
}
