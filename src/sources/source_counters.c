/* Reads and writes a process's counters: see sources.h. */
#include <errno.h>
#include <string.h>

#include "sources/sources_state.h"
#include "util/saturate.h"

#define NS_PER_MS UINT64_C(1000000)
/*
 * Counters are read more often in the first seconds of a program's life, which tell most: every
 * eighth of its age, but not more often than this.
 */
#define PERIOD_FIRST_MS 100U
#define AGE_PER_PERIOD  8U
/*
 * A period is at least the age divided by this, so that an old process is written ever more rarely.
 */
#define WRITES_AN_AGE 3600U
/*
 * A jump is a change of at least this many bytes, and of at least this part of the last written
 * RSS. Jumps may be written this many times in a period.
 */
#define JUMP_BYTES_MIN (INT64_C(1) << 20)
#define JUMP_PART      16
#define JUMPS_A_PERIOD 8U
/* oom_score_adj hardly ever changes. With a period that heapscope chose, it is read this often. */
#define OOM_SCORE_PERIOD_NS UINT64_C(1000000000)

uint64_t hs_source_read_period_ns(const struct hs_sources_settings *settings, uint64_t age_ns)
{
    uint64_t poll_ns = settings->poll_ms * NS_PER_MS;
    uint64_t early_ns = age_ns / AGE_PER_PERIOD;
    uint64_t first_ns = PERIOD_FIRST_MS * NS_PER_MS;
    if (!settings->is_thinning || early_ns >= poll_ns) {
        return poll_ns;
    }
    early_ns = early_ns < first_ns ? first_ns : early_ns;
    return early_ns < poll_ns ? early_ns : poll_ns;
}

uint64_t hs_source_write_period_ns(const struct hs_sources_settings *settings, uint64_t age_ns)
{
    uint64_t period_ns = hs_source_read_period_ns(settings, age_ns);
    uint64_t late_ns = settings->is_thinning ? age_ns / WRITES_AN_AGE : 0;
    return late_ns > period_ns ? late_ns : period_ns;
}

void hs_source_tell_unread(struct hs_sources *sources, pid_t pid, uint64_t now_ns, const char *file,
                           int error, bool *is_told)
{
    /* The end of a process is not an error. */
    if (*is_told || error == -ESRCH || error == -ENOENT) {
        return;
    }
    *is_told = true;
    hs_trace_writer_unread(sources->writer, (uint32_t)pid, now_ns, file, strerror(-error));
    sources->packet_count++;
}

bool hs_source_read(struct hs_sources *sources, struct hs_source_process *state, uint64_t now_ns)
{
    const struct hs_sources_settings *settings = &sources->settings;
    struct hs_counters counters = state->seen;
    struct hs_proc_identity identity;
    int r = hs_proc_read_counters(sources->folder, state->pid, &counters, &identity);
    if (r < 0) {
        hs_source_tell_unread(sources, state->pid, now_ns, "status", r, &state->is_status_told);
        return r != -ESRCH && r != -ENOENT;
    }
    if (state->start_ticks != 0 && identity.start_ticks != state->start_ticks) {
        return false; /* the pid now belongs to another process */
    }
    if (!settings->is_thinning || now_ns >= state->oom_score_next_ns) {
        hs_proc_read_oom_score_adj(sources->folder, state->pid, &counters);
        state->oom_score_next_ns = now_ns + OOM_SCORE_PERIOD_NS;
    }
    if (!settings->with_process_runtime) {
        counters.has_mask &=
            ~(HS_COUNTER_BIT(HS_COUNTER_RUNTIME_USER) | HS_COUNTER_BIT(HS_COUNTER_RUNTIME_KERNEL));
    }
    /* A zombie has no memory and no threads: keep the earlier values. */
    bool is_dead = identity.state == 'Z' || identity.state == 'X';
    if (is_dead && hs_counters_have(&state->seen, HS_COUNTER_THREADS)) {
        counters.values[HS_COUNTER_THREADS] = state->seen.values[HS_COUNTER_THREADS];
    }
    uint64_t live_bytes;
    if (state->heap.read && state->heap.read(state->heap.ctx, &live_bytes)) {
        hs_counters_set(&counters, HS_COUNTER_LIVE, hs_saturate_signed(live_bytes));
    }
    state->seen = counters;
    state->seen_ns = now_ns;
    return !is_dead;
}

static uint32_t find_changed(const struct hs_source_process *state)
{
    const struct hs_counters *seen = &state->seen, *written = &state->written;
    uint32_t mask = seen->has_mask & ~written->has_mask;
    for (unsigned i = 0; i < HS_COUNTER_N; i++) {
        if (seen->values[i] != written->values[i]) {
            mask |= seen->has_mask & HS_COUNTER_BIT(i);
        }
    }
    return mask;
}

/* Has memory changed so much that it is worth a write before the period is over? */
static bool has_jumped(const struct hs_source_process *state)
{
    static const enum hs_counter memory[] = { HS_COUNTER_RSS, HS_COUNTER_RSS_ANON, HS_COUNTER_SWAP,
                                              HS_COUNTER_RSS_PEAK, HS_COUNTER_LIVE };
    int64_t least = state->written.values[HS_COUNTER_RSS] / JUMP_PART;
    least = least > JUMP_BYTES_MIN ? least : JUMP_BYTES_MIN;
    for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) {
        int64_t now = state->seen.values[memory[i]], before = state->written.values[memory[i]];
        if ((now > before ? now - before : before - now) >= least) {
            return true;
        }
    }
    return false;
}

void hs_source_write(struct hs_sources *sources, struct hs_source_process *state, uint64_t now_ns,
                     bool is_due)
{
    struct hs_counters changed = state->seen;
    changed.has_mask = find_changed(state);
    bool is_time = is_due || now_ns >= state->write_next_ns ||
                   (now_ns >= state->jump_next_ns && has_jumped(state));
    if (changed.has_mask == 0 || !is_time) {
        return;
    }
    uint64_t period_ns = hs_source_write_period_ns(&sources->settings, now_ns - state->begin_ns);
    hs_trace_writer_counters(sources->writer, (uint32_t)state->pid, state->seen_ns, &changed);
    sources->packet_count++;
    state->written = state->seen;
    state->write_next_ns = now_ns + period_ns;
    state->jump_next_ns = now_ns + period_ns / JUMPS_A_PERIOD;
}
