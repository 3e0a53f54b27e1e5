/*
 * See sources.h. Life, and which process is looked at when.
 */
#include "sources/sources.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "sources/sources_state.h"

/* Of a file that takes long: at the dump, each time after it, and until then. */
#define SMAPS_FIRST_NS UINT64_C(10000000)
#define SMAPS_STEP_NS  UINT64_C(3000000)
#define SMAPS_PAUSE_NS UINT64_C(9000000)
#define SMAPS_LAST_NS  UINT64_C(2000000000)
/* At most this part of the time goes into it, however often dumps come; */
#define SMAPS_SHARE 10U
/* and so far apart are counters of dumps, and looks for other names of threads. */
#define DUMP_MIN_NS  UINT64_C(100000000)
#define NAMES_MIN_NS UINT64_C(1000000000)

int hs_sources_new(const struct hs_sources_settings *settings, struct hs_trace_writer *writer,
                   struct hs_sources **ret_sources)
{
    struct hs_sources *sources = calloc(1, sizeof(*sources));
    if (!sources) {
        return -ENOMEM;
    }
    sources->settings = *settings;
    if (settings->poll_ms > 0 && settings->poll_ms < HS_SOURCES_POLL_MS_MIN) {
        sources->settings.poll_ms = HS_SOURCES_POLL_MS_MIN;
    }
    sources->writer = writer;
    sources->folder = "/proc";
    sources->meminfo_next_ns = settings->meminfo_ms > 0 ? 0 : UINT64_MAX;
    sources->psi_next_ns = settings->psi_ms > 0 ? 0 : UINT64_MAX;
    *ret_sources = sources;
    return 0;
}

struct hs_sources *hs_sources_free(struct hs_sources *sources)
{
    free(sources);
    return NULL;
}

void hs_sources_begin(struct hs_sources *sources, uint64_t now_ns)
{
    if (sources && sources->settings.scan_all_on_start) {
        hs_source_scan(sources, now_ns);
    }
}

uint64_t hs_sources_packet_count(const struct hs_sources *sources)
{
    return sources ? sources->packet_count : 0;
}

static uint64_t clock_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

/* --- mappings ---------------------------------------------------------------------------------- */

static void close_smaps(struct hs_source_process *state)
{
    if (state->is_reading_smaps) {
        hs_proc_smaps_close(&state->smaps);
        state->is_reading_smaps = false;
    }
}

static void step_smaps(struct hs_sources *sources, struct hs_source_process *state, uint64_t now_ns,
                       uint64_t max_ns)
{
    if (!state->is_reading_smaps) {
        return;
    }
    uint64_t begin_ns = clock_ns();
    int r = hs_proc_smaps_step(&state->smaps, max_ns);
    state->smaps_cost_ns += clock_ns() - begin_ns;
    if (r == HS_PROC_SMAPS_E_MORE) {
        return;
    }
    state->smaps_next_ns = state->smaps_ns + state->smaps_cost_ns * SMAPS_SHARE;
    if (r == 0) {
        hs_trace_writer_smaps(sources->writer, (uint32_t)state->pid, state->smaps_ns,
                              &state->smaps.sums);
        sources->packet_count++;
    } else {
        hs_source_tell_unread(sources, state->pid, now_ns, "smaps", r, &state->is_smaps_told);
    }
    close_smaps(state);
}

static void begin_smaps(struct hs_sources *sources, struct hs_source_process *state,
                        uint64_t now_ns)
{
    if (state->is_reading_smaps || now_ns < state->smaps_next_ns) {
        return; /* of the dump before, still; or it would take too much */
    }
    int r = hs_proc_smaps_open(&state->smaps, sources->folder, state->pid);
    if (r < 0) {
        hs_source_tell_unread(sources, state->pid, now_ns, "smaps", r, &state->is_smaps_told);
        return;
    }
    state->is_reading_smaps = true;
    state->smaps_ns = now_ns;
    state->smaps_cost_ns = 0;
    step_smaps(sources, state, now_ns, SMAPS_FIRST_NS);
}

/* --- a process --------------------------------------------------------------------------------- */

struct hs_source_process *hs_source_process_free(struct hs_source_process *state)
{
    if (state) {
        close_smaps(state);
        free(state->threads);
        free(state);
    }
    return NULL;
}

/* NULL: nothing is asked of processes, or there is no memory. */
static struct hs_source_process *find(struct hs_sources *sources, struct hs_source_process **state,
                                      pid_t pid, uint64_t now_ns)
{
    if (!sources || pid <= 0 || !hs_sources_ask_processes(&sources->settings)) {
        return NULL;
    }
    if (!*state) {
        *state = calloc(1, sizeof(**state));
        if (*state) {
            (*state)->pid = pid;
            (*state)->begin_ns = now_ns;
            (*state)->is_gone = !hs_source_introduce(sources, *state, now_ns);
        }
    }
    return *state;
}

static void look(struct hs_sources *sources, struct hs_source_process *state, uint64_t now_ns,
                 bool with_rollup, bool is_dump)
{
    int64_t thread_count = state->seen.values[HS_COUNTER_THREADS];
    state->is_gone = !hs_source_read(sources, state, now_ns, with_rollup);
    bool with_names = is_dump && now_ns >= state->names_next_ns;
    if (!state->is_gone && (with_names || state->seen.values[HS_COUNTER_THREADS] != thread_count)) {
        hs_source_threads(sources, state, now_ns, with_names);
        state->names_next_ns = with_names ? now_ns + NAMES_MIN_NS : state->names_next_ns;
    }
    if (!state->is_gone) {
        hs_source_write(sources, state, now_ns, is_dump);
    }
}

uint64_t hs_sources_look(struct hs_sources *sources, struct hs_source_process **at, pid_t pid,
                         uint64_t now_ns)
{
    struct hs_source_process *state = find(sources, at, pid, now_ns);
    if (!state || state->is_gone) {
        return UINT64_MAX;
    }
    step_smaps(sources, state, now_ns, SMAPS_STEP_NS);
    if (sources->settings.poll_ms > 0 && now_ns >= state->read_next_ns) {
        look(sources, state, now_ns, sources->settings.with_smaps_rollup, false);
        state->read_next_ns =
            now_ns + hs_source_read_period_ns(&sources->settings, now_ns - state->begin_ns);
    }
    uint64_t next_ns = sources->settings.poll_ms > 0 ? state->read_next_ns : UINT64_MAX;
    uint64_t soon_ns = now_ns + SMAPS_PAUSE_NS;
    return state->is_reading_smaps && soon_ns < next_ns ? soon_ns : next_ns;
}

void hs_sources_dump(struct hs_sources *sources, struct hs_source_process **at, pid_t pid,
                     uint64_t now_ns, bool is_last)
{
    struct hs_source_process *state = find(sources, at, pid, now_ns);
    if (!state || state->is_gone) {
        return;
    }
    if (sources->settings.poll_ms > 0 &&
        (is_last || state->dump_ns == 0 || now_ns >= state->dump_ns + DUMP_MIN_NS)) {
        state->dump_ns = now_ns;
        bool with_rollup =
            sources->settings.with_rollup_at_dumps || sources->settings.with_smaps_rollup;
        look(sources, state, now_ns, with_rollup, true);
    }
    if (sources->settings.with_smaps_at_dumps && !state->is_gone) {
        begin_smaps(sources, state, now_ns);
    }
    if (is_last) {
        step_smaps(sources, state, now_ns, SMAPS_LAST_NS);
    }
}

struct hs_source_process *hs_sources_end(struct hs_sources *sources,
                                         struct hs_source_process *state, uint64_t end_ns,
                                         uint64_t peak_bytes)
{
    if (!state || !sources || sources->settings.poll_ms == 0) {
        return hs_source_process_free(state);
    }
    /* As it was when it was last looked at; then what a zombie still tells, and the peak. */
    hs_source_write(sources, state, state->seen_ns, true);
    hs_source_read(sources, state, end_ns, false);
    int64_t peak = peak_bytes > INT64_MAX ? INT64_MAX : (int64_t)peak_bytes;
    bool has_memory = hs_counters_have(&state->seen, HS_COUNTER_RSS_PEAK);
    if (peak > 0 && (!has_memory || peak > state->seen.values[HS_COUNTER_RSS_PEAK])) {
        hs_counters_set(&state->seen, HS_COUNTER_RSS_PEAK, peak);
    }
    state->seen_ns = end_ns;
    hs_source_write(sources, state, end_ns, true);
    return hs_source_process_free(state);
}
