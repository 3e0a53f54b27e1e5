/*
 * Checks a request and makes settings of it: see start_settings.h.
 */
#include "daemon/start_settings.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define HS_PATTERN_MAX 4095U
/* The longest time in a schedule: added to a clock it does not overflow. */
#define HS_TIME_MAX_NS (UINT64_C(1) << 60)

static const char *add_processes(const Hs__Ctl__Start *request,
                                 struct hs_session_settings *settings, int *ret_error)
{
    int r = 0;
    if (request->n_pid > HS_SESSION_PIDS_MAX || request->n_name > HS_SESSION_NAMES_MAX) {
        return "it names too many processes";
    }
    for (size_t i = 0; r == 0 && i < request->n_pid; i++) {
        if (request->pid[i] > INT_MAX) {
            return "a process id is too large";
        }
        r = hs_session_settings_add_pid(settings, (pid_t)request->pid[i]);
    }
    for (size_t i = 0; r == 0 && i < request->n_name; i++) {
        if (strlen(request->name[i]) > HS_PATTERN_MAX) {
            return "the name of a process is too long";
        }
        r = hs_session_settings_add_name(settings, request->name[i]);
    }
    for (size_t i = 0; r == 0 && i < request->n_skip_symbol_prefix; i++) {
        if (i >= HS_SESSION_NAMES_MAX || strlen(request->skip_symbol_prefix[i]) > HS_PATTERN_MAX) {
            return "it leaves out too many files, or a file whose name is too long";
        }
        r = hs_session_settings_add_skipped(settings, request->skip_symbol_prefix[i]);
    }
    *ret_error = r;
    return NULL;
}

static const char *check_times(const struct hs_session_settings *settings)
{
    if (settings->dumps.every_ns > HS_TIME_MAX_NS || settings->dumps.phase_ns > HS_TIME_MAX_NS ||
        settings->duration_ns > HS_TIME_MAX_NS) {
        return "a duration is too long";
    }
    if (settings->dumps.every_ns > 0 && settings->dumps.every_ns < HS_DUMP_EVERY_MIN_NS) {
        return "dumps are at least 10ms apart";
    }
    return NULL;
}

static bool is_period(uint32_t ms)
{
    return ms == 0 || (ms >= HS_SOURCES_POLL_MS_MIN && ms <= HS_SOURCES_POLL_MS_MAX);
}

/* Takes the counters to record. A command of an older version sends nothing about them. */
static const char *take_sources(const Hs__Ctl__Sources *request,
                                struct hs_sources_settings *ret_settings)
{
    *ret_settings = hs_sources_default();
    if (!request) {
        return NULL;
    }
    if (!is_period(request->poll_ms) || !is_period(request->meminfo_ms) ||
        !is_period(request->psi_ms)) {
        return "counters are read between ten times a second and once a day";
    }
    ret_settings->poll_ms = request->poll_ms;
    ret_settings->is_thinning = request->is_thinning;
    ret_settings->with_smaps_at_dumps = request->with_smaps_at_dumps;
    ret_settings->meminfo_ms = request->meminfo_ms;
    ret_settings->psi_ms = request->psi_ms;
    ret_settings->with_smaps_rollup = request->with_smaps_rollup;
    ret_settings->with_rollup_at_dumps &= !request->without_rollup_at_dumps;
    ret_settings->with_thread_names &= !request->without_thread_names;
    ret_settings->with_process_age &= !request->without_process_age;
    ret_settings->with_process_runtime &= !request->without_process_runtime;
    ret_settings->scan_all_on_start = request->scan_all_on_start;
    ret_settings->meminfo_mask = request->meminfo_mask;
    ret_settings->is_without_types = request->is_without_types;
    return NULL;
}

static const char *take_heaps(const Hs__Ctl__Heaps *request, struct hs_heap_selection *heaps)
{
    if (!request) {
        return NULL;
    }
    if (request->n_pattern != request->n_interval_bytes) {
        return "it has not one interval for each heap";
    }
    heaps->is_without_malloc = request->is_without_malloc;
    heaps->has_lifetimes = request->has_lifetimes;
    heaps->is_native_only = request->is_native_only;
    heaps->is_without_others = request->is_without_others;
    heaps->other_interval_bytes = request->other_interval_bytes;
    for (size_t i = 0; i < request->n_pattern; i++) {
        const char *pattern = request->pattern[i];
        const char *wrong =
            hs_heap_selection_add(heaps, pattern, strlen(pattern), request->interval_bytes[i]);
        if (wrong) {
            return wrong;
        }
    }
    return NULL;
}

int hs_start_settings(const Hs__Ctl__Start *request, struct hs_session_settings *ret_settings,
                      const char **ret_why)
{
    struct hs_session_settings settings = {
        .is_all = request->is_all,
        .min_anon_bytes = request->min_anon_bytes,
        .interval_bytes = request->interval_bytes,
        .is_taking_startup = !request->is_without_startup,
        .is_taking_running = !request->is_without_running,
        .is_taking_children = request->is_taking_children,
        .is_attaching_started = true,
        .is_symbolizing = !request->is_without_names,
        .with_blocks = request->with_blocks,
        .is_compressing = !request->is_uncompressed,
        .dumps = { .every_ns = request->dump_every_ns,
                   .phase_ns = request->dump_phase_ns,
                   .is_at_peak = request->is_dumping_at_peak,
                   .is_max_in_samples = request->is_max_in_samples,
                   .above_bytes = request->dump_above_bytes },
        .duration_ns = request->duration_ns,
        .limits = { .memory_bytes = request->max_memory_bytes,
                    .overhead_ppm = request->max_overhead_ppm,
                    .cpu_ns = request->max_cpu_ns },
    };
    int r = 0;
    const char *why = NULL;
    if (request->session) {
        if (!hs_session_is_name(request->session)) {
            why = "a session's name is at most 63 letters, digits, '.', '_' and '-'";
        } else {
            snprintf(settings.name, sizeof(settings.name), "%s", request->session);
        }
    }
    why = why ? why : add_processes(request, &settings, &r);
    why = why ? why : check_times(&settings);
    why = why ? why : take_sources(request->sources, &settings.sources);
    why = why ? why : take_heaps(request->heaps, &settings.heaps);
    why = why || r < 0 ? why : hs_session_settings_check(&settings);
    if (why || r < 0) {
        hs_session_settings_deinit(&settings);
        *ret_why = why;
        return why ? -EINVAL : r;
    }
    *ret_settings = settings;
    return 0;
}
