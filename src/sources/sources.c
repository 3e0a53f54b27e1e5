/* See sources.h: lifetime, and when each process is read. */
#include "sources/sources.h"

#include <errno.h>
#include <stdlib.h>

#include "sources/sources_state.h"

/* How often to check whether a walk's thread is done. */
#define WALK_LOOK_NS UINT64_C(20000000)
/* The last dump waits for smaps_rollup. For a larger process that takes too long and is skipped. */
#define WAIT_BYTES_MAX (INT64_C(512) << 20)
/* Least time between counters of dumps, and between checks for changed thread names. */
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

uint64_t hs_sources_smaps_count(const struct hs_sources *sources)
{
    return sources ? sources->smaps_count : 0;
}

/* --- a process -------------------------------------------------------------------------------- */

struct hs_source_process *hs_source_process_free(struct hs_source_process *state)
{
    if (state) {
        hs_source_walk_take(NULL, state, true);
        hs_source_walk_free(state->spare);
        free(state->threads);
        free(state);
    }
    return NULL;
}

/*
 * Finds or makes the state. NULL: the settings ask for nothing about processes, or memory ran out.
 */
static struct hs_source_process *find(struct hs_sources *sources, struct hs_source_process **state,
                                      pid_t pid, const struct hs_source_heap *heap, uint64_t now_ns)
{
    if (!sources || pid <= 0 || !hs_sources_ask_processes(&sources->settings)) {
        return NULL;
    }
    if (!*state) {
        *state = calloc(1, sizeof(**state));
        if (*state) {
            (*state)->pid = pid;
            (*state)->heap = heap ? *heap : (struct hs_source_heap){ 0 };
            (*state)->begin_ns = now_ns;
            (*state)->is_gone = !hs_source_introduce(sources, *state, now_ns);
        }
    }
    return *state;
}

static void read_and_write(struct hs_sources *sources, struct hs_source_process *state,
                           uint64_t now_ns, bool is_dump)
{
    int64_t thread_count = state->seen.values[HS_COUNTER_THREADS];
    state->is_gone = !hs_source_read(sources, state, now_ns);
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
                         const struct hs_source_heap *heap, uint64_t now_ns)
{
    struct hs_source_process *state = find(sources, at, pid, heap, now_ns);
    if (!state || state->is_gone) {
        return UINT64_MAX;
    }
    hs_source_walk_take(sources, state, false);
    if (sources->settings.poll_ms > 0 && now_ns >= state->read_next_ns) {
        read_and_write(sources, state, now_ns, false);
        state->read_next_ns =
            now_ns + hs_source_read_period_ns(&sources->settings, now_ns - state->begin_ns);
        if (!state->is_gone && sources->settings.with_smaps_rollup) {
            hs_source_walk_begin(sources, state, now_ns, true, false);
        }
    }
    uint64_t next_ns = sources->settings.poll_ms > 0 ? state->read_next_ns : UINT64_MAX;
    uint64_t spare_ns = state->is_gone ? UINT64_MAX : hs_source_spare_look(sources, state, now_ns);
    next_ns = spare_ns < next_ns ? spare_ns : next_ns;
    uint64_t soon_ns = now_ns + WALK_LOOK_NS;
    return state->walk && soon_ns < next_ns ? soon_ns : next_ns;
}

void hs_sources_dump(struct hs_sources *sources, struct hs_source_process **at, pid_t pid,
                     const struct hs_source_heap *heap, uint64_t now_ns, bool is_last)
{
    struct hs_source_process *state = find(sources, at, pid, heap, now_ns);
    if (!state || state->is_gone) {
        return;
    }
    const struct hs_sources_settings *settings = &sources->settings;
    bool is_counting = settings->poll_ms > 0;
    bool is_time = is_last || state->dump_ns == 0 || now_ns >= state->dump_ns + DUMP_MIN_NS;
    if (is_counting && is_time) {
        state->dump_ns = now_ns;
        read_and_write(sources, state, now_ns, true);
    }
    hs_source_walk_take(sources, state, false);
    bool is_large = state->seen.values[HS_COUNTER_RSS] > WAIT_BYTES_MAX;
    if (!state->is_gone) {
        bool with_rollup = is_counting && !(is_last && is_large) &&
                           (settings->with_rollup_at_dumps || settings->with_smaps_rollup);
        hs_source_walk_begin(sources, state, now_ns, with_rollup, settings->with_smaps_at_dumps);
    }
    if (is_last) {
        hs_source_walk_take(sources, state, true);
    }
}

/* Sets both the highest RSS that was read and the caller's peak to the larger of the two. */
static void raise_peak(struct hs_source_process *state, uint64_t *peak_bytes)
{
    int64_t peak = *peak_bytes > INT64_MAX ? INT64_MAX : (int64_t)*peak_bytes;
    int64_t seen = hs_counters_have(&state->seen, HS_COUNTER_RSS_PEAK)
                       ? state->seen.values[HS_COUNTER_RSS_PEAK]
                       : 0;
    if (peak > seen) {
        hs_counters_set(&state->seen, HS_COUNTER_RSS_PEAK, peak);
    } else {
        *peak_bytes = (uint64_t)seen;
    }
}

struct hs_source_process *hs_sources_end(struct hs_sources *sources,
                                         struct hs_source_process *state, uint64_t end_ns,
                                         uint64_t *peak_bytes)
{
    if (state && sources) {
        hs_source_walk_take(sources, state, true);
        hs_source_spare_write(sources, state);
    }
    if (!state || !sources || sources->settings.poll_ms == 0) {
        return hs_source_process_free(state);
    }
    /* First the values of the last look; then what a zombie still has, and the peak. */
    hs_source_write(sources, state, state->seen_ns, true);
    raise_peak(state, peak_bytes);
    hs_source_read(sources, state, end_ns);
    raise_peak(state, peak_bytes);
    state->seen_ns = end_ns;
    hs_source_write(sources, state, end_ns, true);
    return hs_source_process_free(state);
}
