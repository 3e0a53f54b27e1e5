/*
 * Translates a config's data source of the heap profiler: see trace_config.h.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/trace_config.h"
#include "util/utf8.h"

#define SOURCE_NAME   "android.heapprofd"
#define SHMEM_MIN     8192
#define PAGE          4096
#define NS_PER_MS     UINT64_C(1000000)
#define NS_PER_SECOND UINT64_C(1000000000)

static void note(const struct hs_trace_config_notes *notes, const char *text)
{
    if (notes && notes->say) {
        notes->say(notes->ctx, text);
    }
}

static int reject(struct hs_trace_config_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int reject(struct hs_trace_config_error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    return HS_TRACE_CONFIG_E_WRONG;
}

static int find_source(const Hs__Pb__TraceConfig *config, const struct hs_trace_config_notes *notes,
                       const Hs__Pb__DataSourceConfig **ret_source,
                       struct hs_trace_config_error *error)
{
    char text[256], shown[100];
    *ret_source = NULL;
    for (size_t i = 0; i < config->n_data_sources; i++) {
        const Hs__Pb__DataSourceConfig *it = config->data_sources[i]->config;
        const char *name = it && it->name ? it->name : "";
        if (strcmp(name, SOURCE_NAME) == 0) {
            if (*ret_source) {
                return reject(error, "two data sources " SOURCE_NAME ": record one at a time");
            }
            *ret_source = it;
        } else if (strcmp(name, "linux.process_stats") != 0 &&
                   strcmp(name, "linux.sys_stats") != 0) {
            /* In a binary config the name may contain any bytes. */
            size_t shown_bytes = hs_utf8_clean(name, strlen(name), shown, sizeof(shown));
            snprintf(text, sizeof(text),
                     "data source '%.*s' is not recorded: heapscope does not have it",
                     (int)shown_bytes, shown);
            note(notes, text);
        }
    }
    return *ret_source && (*ret_source)->heapprofd_config
               ? 0
               : reject(error, "the config has no data source " SOURCE_NAME
                               " with a heapprofd_config: it does not say what to profile");
}

/* The interval of a heap that the config lists. */
static uint64_t listed_interval(const Hs__Pb__HeapprofdConfig *c, size_t i)
{
    return c->n_heap_sampling_intervals > 0 ? c->heap_sampling_intervals[i] : HS_INTERVAL_SAME;
}

static int check_intervals(const Hs__Pb__HeapprofdConfig *c, struct hs_trace_config_error *error)
{
    if (c->n_heap_sampling_intervals > 0 && c->n_heap_sampling_intervals != c->n_heaps) {
        return reject(error, "heap_sampling_intervals has %zu values for %zu heaps",
                      c->n_heap_sampling_intervals, c->n_heaps);
    }
    for (size_t i = 0; i < c->n_heap_sampling_intervals; i++) {
        if (c->heap_sampling_intervals[i] == 0) {
            return reject(error, "heap_sampling_intervals: 0 is no interval; 1 records everything");
        }
        if (c->heap_sampling_intervals[i] > HS_INTERVAL_BYTES_MAX) {
            return reject(error, "heap_sampling_intervals: %llu is too large",
                          (unsigned long long)c->heap_sampling_intervals[i]);
        }
    }
    return 0;
}

/* Adds a rule. False: there is no room for it, nor for any other. */
static bool add_heap(const char *name, uint64_t interval_bytes,
                     const struct hs_trace_config_notes *notes, struct hs_heap_selection *heaps)
{
    if (heaps->rule_count == HS_REGION_HEAP_RULES) {
        note(notes, "more than 32 heaps: the others are left out");
        return false;
    }
    if (hs_heap_selection_add(heaps, name, strlen(name), interval_bytes)) {
        note(notes, "a heap without a name, or whose name is longer than 63 bytes, is left "
                    "out");
    }
    return true;
}

/* Is the name listed among the heaps to record? Such a heap is recorded even if the config excludes
 * it, as heapprofd does. */
static bool is_listed(const Hs__Pb__HeapprofdConfig *c, const char *name)
{
    for (size_t i = 0; i < c->n_heaps; i++) {
        if (strcmp(c->heaps[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Like heapprofd's: without a list, and without all_heaps, malloc's heap alone. */
static int take_heaps(const Hs__Pb__HeapprofdConfig *c, const struct hs_trace_config_notes *notes,
                      struct hs_trace_wishes *recording, struct hs_trace_config_error *error)
{
    struct hs_heap_selection *heaps = &recording->heaps;
    int r = check_intervals(c, error);
    if (r != 0) {
        return r;
    }
    bool has_room = true;
    for (size_t i = 0; i < c->n_exclude_heaps && has_room; i++) {
        if (!is_listed(c, c->exclude_heaps[i])) {
            has_room = add_heap(c->exclude_heaps[i], HS_INTERVAL_OFF, notes, heaps);
        }
    }
    for (size_t i = 0; i < c->n_heaps && has_room; i++) {
        has_room = add_heap(c->heaps[i], listed_interval(c, i), notes, heaps);
    }
    if (c->n_heaps == 0 && !c->all_heaps && has_room) {
        add_heap(HS_HEAP_MALLOC, HS_INTERVAL_SAME, notes, heaps);
    }
    heaps->is_without_others = !c->all_heaps;
    hs_heap_selection_settle(heaps, &recording->interval_bytes);
    return hs_heap_selection_check(heaps)
               ? reject(error, "the config selects no heap: heaps, all_heaps and exclude_heaps "
                               "leave none")
               : 0;
}

static void take_dumps(const Hs__Pb__HeapprofdConfig *c, const struct hs_trace_config_notes *notes,
                       struct hs_trace_wishes *recording)
{
    const Hs__Pb__HeapprofdConfig__ContinuousDumpConfig *dumps = c->continuous_dump_config;
    if (dumps && dumps->dump_interval_ms > 0) {
        uint64_t every_ns = dumps->dump_interval_ms * NS_PER_MS;
        uint64_t phase_ns = dumps->dump_phase_ms * NS_PER_MS;
        if (every_ns < HS_DUMP_EVERY_MIN_NS) {
            note(notes, "dump_interval_ms: dumps are at least 10 ms apart");
            every_ns = HS_DUMP_EVERY_MIN_NS;
        }
        recording->dumps.every_ns = every_ns;
        recording->dumps.phase_ns =
            phase_ns > 0 && phase_ns < HS_DUMP_EVERY_MIN_NS ? HS_DUMP_EVERY_MIN_NS : phase_ns;
    }
    recording->dumps.is_max_in_samples = c->dump_at_max;
}

static int take_limits(const Hs__Pb__HeapprofdConfig *c, const struct hs_trace_config_notes *notes,
                       struct hs_trace_wishes *recording, struct hs_trace_config_error *error)
{
    uint64_t shmem = c->shmem_size_bytes;
    if (shmem != 0 && (shmem < SHMEM_MIN || shmem % PAGE != 0 || (shmem & (shmem - 1)) != 0)) {
        return reject(error, "shmem_size_bytes: %llu is not a power of two of at least 8192",
                      (unsigned long long)shmem);
    }
    if (c->max_heapprofd_cpu_secs > 0) {
        recording->limits.cpu_ns = c->max_heapprofd_cpu_secs > HS_BUDGET_CPU_MAX_NS / NS_PER_SECOND
                                       ? HS_BUDGET_CPU_MAX_NS
                                       : c->max_heapprofd_cpu_secs * NS_PER_SECOND;
    }
    if (c->max_heapprofd_memory_kb > 0) {
        uint64_t memory = (uint64_t)c->max_heapprofd_memory_kb * 1024;
        recording->limits.memory_bytes =
            memory < HS_BUDGET_MEMORY_MIN ? HS_BUDGET_MEMORY_MIN : memory;
        note(notes, "max_heapprofd_memory_kb limits what is recorded of each process; near it, "
                    "sampling becomes coarser, and the profile does not end");
    }
    if (c->adaptive_sampling_shmem_threshold > 0) {
        note(notes, "adaptive_sampling_shmem_threshold has no effect: there is no buffer that "
                    "could fill up");
    }
    if (c->adaptive_sampling_max_sampling_interval_bytes > 0) {
        note(notes, "adaptive_sampling_max_sampling_interval_bytes has no effect: the interval "
                    "grows only near max_heapprofd_memory_kb");
    }
    return 0;
}

static void note_the_rest(const Hs__Pb__HeapprofdConfig *c,
                          const struct hs_trace_config_notes *notes)
{
    if (c->block_client_timeout_us > 0) {
        note(notes, "block_client_timeout_us has no effect: no program waits for a buffer");
    }
    if (c->stream_allocations) {
        note(notes, "stream_allocations has no effect: call stacks are recorded");
    }
    if (c->n_target_installed_by > 0) {
        note(notes, "target_installed_by has no effect: there are no Android packages here");
    }
    if (c->disable_fork_teardown || c->disable_vfork_detection) {
        note(notes,
             "disable_fork_teardown and disable_vfork_detection have no effect: forked children "
             "are recorded as processes of their own, and vforked ones disturb nothing");
    }
}

int hs_trace_config_take(const Hs__Pb__TraceConfig *config,
                         const struct hs_trace_config_notes *notes,
                         struct hs_trace_wishes *ret_recording,
                         struct hs_trace_config_error *ret_error)
{
    const Hs__Pb__DataSourceConfig *source = NULL;
    int r = find_source(config, notes, &source, ret_error);
    if (r != 0 || !source) {
        return r ? r : -EINVAL;
    }
    const Hs__Pb__HeapprofdConfig *c = source->heapprofd_config;
    if (c->sampling_interval_bytes == 0 && c->n_heap_sampling_intervals == 0) {
        return reject(ret_error, "sampling_interval_bytes is missing or 0; 4096 is usual, and 1 "
                                 "records everything");
    }
    struct hs_trace_wishes recording = {
        .interval_bytes = c->sampling_interval_bytes,
        .names = c->process_cmdline,
        .name_count = c->n_process_cmdline,
        .pids = c->pid,
        .pid_count = c->n_pid,
        .is_all = c->all,
        .is_taking_startup = !c->no_startup,
        .is_taking_running = !c->no_running,
        .min_anon_bytes = (uint64_t)c->min_anonymous_memory_kb * 1024,
        .skipped = { (const char *const *)c->skip_symbol_prefix, c->n_skip_symbol_prefix },
        .duration_ns = config->duration_ms * NS_PER_MS,
    };
    if (c->no_startup && c->no_running) {
        return reject(ret_error, "no_startup and no_running together leave no process");
    }
    if (recording.interval_bytes == 0) {
        recording.interval_bytes = c->heap_sampling_intervals[0];
    }
    r = take_heaps(c, notes, &recording, ret_error);
    if (r == 0 && recording.interval_bytes > HS_INTERVAL_BYTES_MAX) {
        r = reject(ret_error, "sampling_interval_bytes: %llu is too large",
                   (unsigned long long)recording.interval_bytes);
    }
    if (r == 0) {
        r = take_limits(c, notes, &recording, ret_error);
    }
    if (r == 0) {
        take_dumps(c, notes, &recording);
        note_the_rest(c, notes);
        *ret_recording = recording;
    }
    return r;
}
