/*
 * Reads files for which the kernel walks all pages of a process: smaps_rollup (proportional sizes)
 * and smaps (mappings).
 *
 * This takes 50 ms per GiB of small pages, in one call that cannot be split. A thread therefore
 * does it, one thread at a time per process, while dumps go on. The thread only reads files, with
 * all signals blocked.
 *
 * A process that has ended has no mappings any more, and many processes are dumped only then. If
 * mappings were requested, they are therefore also read between dumps. The last ones are kept
 * (`spare`) until a dump or the end of the process.
 *
 * Ensures   from the thread's start until it is joined, only the thread uses the fields of its
 *           walk.
 * See       sources_state.h
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "rt/clock.h"
#include "sources/sources_state.h"

/* The thread reads into a buffer on its stack. */
#define STACK_BYTES ((size_t)PTHREAD_STACK_MIN + (512U << 10))
/* Reading takes at most 1 / this part of the time, however often dumps come. */
#define ROLLUP_SHARE 100U /* at most 1 / this part of the time is spent on it */
#define SMAPS_SHARE  10U
/*
 * Between dumps, mappings are read after each eighth of a process's age, but at least every 10 s
 * and at most every 50 ms.
 */
#define SPARE_PER_AGE 8U
#define SPARE_MIN_NS  UINT64_C(50000000)
#define SPARE_MAX_NS  UINT64_C(10000000000)

/*
 * Detects a process that ended while its file was read: the file then simply ends, without an
 * error.
 */
static bool has_memory(const struct hs_source_walk *walk)
{
    struct hs_counters counters = { 0 };
    return hs_proc_read_counters(walk->folder, walk->pid, &counters, NULL) == 0 &&
           hs_counters_have(&counters, HS_COUNTER_RSS);
}

static void *walk_pages(void *of)
{
    struct hs_source_walk *walk = of;
    uint64_t begin_ns = hs_clock_ns(CLOCK_MONOTONIC);
    if (walk->with_rollup) {
        walk->rollup_result = hs_proc_read_rollup(walk->folder, walk->pid, &walk->shares);
    }
    walk->rollup_ns = hs_clock_ns(CLOCK_MONOTONIC) - begin_ns;
    if (walk->with_smaps) {
        int r = hs_proc_smaps_open(&walk->smaps, walk->folder, walk->pid);
        r = r < 0 ? r : hs_proc_smaps_step(&walk->smaps, UINT64_MAX);
        walk->smaps_result = r < 0 || has_memory(walk) ? r : -ESRCH;
    }
    walk->smaps_ns = hs_clock_ns(CLOCK_MONOTONIC) - begin_ns - walk->rollup_ns;
    return NULL;
}

static int start_thread(struct hs_source_walk *walk)
{
    pthread_attr_t attr;
    sigset_t all, before;
    int r = -pthread_attr_init(&attr);
    if (r < 0) {
        return r;
    }
    sigfillset(&all);
    r = -pthread_attr_setstacksize(&attr, STACK_BYTES);
    if (r == 0) {
        pthread_sigmask(SIG_SETMASK, &all, &before);
        r = -pthread_create(&walk->thread, &attr, walk_pages, walk);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attr);
    return r;
}

static void begin(struct hs_sources *sources, struct hs_source_process *state,
                  const struct hs_source_walk *wanted)
{
    struct hs_source_walk *walk = calloc(1, sizeof(*walk));
    if (!walk) {
        return;
    }
    *walk = *wanted;
    walk->folder = sources->folder;
    walk->pid = state->pid;
    walk->smaps.fd = -1;
    if (start_thread(walk) < 0) {
        free(walk);
        return;
    }
    state->walk = walk;
}

void hs_source_walk_begin(struct hs_sources *sources, struct hs_source_process *state,
                          uint64_t now_ns, bool with_rollup, bool with_smaps)
{
    with_rollup &= now_ns >= state->rollup_next_ns;
    with_smaps &= now_ns >= state->smaps_next_ns;
    if (!with_rollup && !with_smaps) {
        return; /* it would take too much of the time */
    }
    const struct hs_source_walk walk = { .time_ns = now_ns,
                                         .with_rollup = with_rollup,
                                         .with_smaps = with_smaps };
    if (!state->walk) {
        begin(sources, state, &walk);
    } else if (state->walk->is_spare) {
        state->after_spare = walk;
    } /* otherwise the walk of the previous dump is still running */
}

uint64_t hs_source_spare_look(struct hs_sources *sources, struct hs_source_process *state,
                              uint64_t now_ns)
{
    if (!sources->settings.with_smaps_at_dumps) {
        return UINT64_MAX;
    }
    if (now_ns >= state->spare_next_ns && !state->walk) {
        uint64_t period_ns = (now_ns - state->begin_ns) / SPARE_PER_AGE;
        period_ns = period_ns < SPARE_MIN_NS   ? SPARE_MIN_NS
                    : period_ns > SPARE_MAX_NS ? SPARE_MAX_NS
                                               : period_ns;
        state->spare_next_ns = now_ns + period_ns;
        begin(sources, state,
              &(struct hs_source_walk){ .time_ns = now_ns, .with_smaps = true, .is_spare = true });
    }
    return state->spare_next_ns;
}

static void write_shares(struct hs_sources *sources, struct hs_source_process *state,
                         const struct hs_source_walk *walk)
{
    struct hs_counters changed = walk->shares;
    for (unsigned i = 0; i < HS_COUNTER_N; i++) {
        if (!hs_counters_have(&walk->shares, i)) {
            continue;
        }
        if (hs_counters_have(&state->written, i) &&
            state->written.values[i] == walk->shares.values[i]) {
            changed.has_mask &= ~HS_COUNTER_BIT(i);
        }
        hs_counters_set(&state->seen, i, walk->shares.values[i]);
        hs_counters_set(&state->written, i, walk->shares.values[i]);
    }
    if (changed.has_mask != 0) {
        hs_trace_writer_counters(sources->writer, (uint32_t)walk->pid, walk->time_ns, &changed);
        sources->packet_count++;
    }
}

static void take_rollup(struct hs_sources *sources, struct hs_source_process *state,
                        const struct hs_source_walk *walk)
{
    state->rollup_next_ns = walk->time_ns + walk->rollup_ns * ROLLUP_SHARE;
    if (walk->rollup_result == 0) {
        write_shares(sources, state, walk);
    } else {
        /* A missing permission stays missing, so do not try again. */
        state->rollup_next_ns = walk->rollup_result == -ESRCH ? state->rollup_next_ns : UINT64_MAX;
        hs_source_tell_unread(sources, walk->pid, walk->time_ns, "smaps_rollup",
                              walk->rollup_result, &state->is_rollup_told);
    }
}

static void write_smaps(struct hs_sources *sources, struct hs_source_process *state,
                        const struct hs_source_walk *walk)
{
    hs_trace_writer_smaps(sources->writer, (uint32_t)walk->pid, walk->time_ns, &walk->smaps.sums);
    sources->packet_count++;
    sources->smaps_count++;
    state->smaps_written_ns = walk->time_ns;
}

static void take_smaps(struct hs_sources *sources, struct hs_source_process *state,
                       const struct hs_source_walk *walk)
{
    /* Readings between dumps must not delay those of dumps. */
    uint64_t *next_ns = walk->is_spare ? &state->spare_next_ns : &state->smaps_next_ns;
    uint64_t calm_ns = walk->time_ns + walk->smaps_ns * SMAPS_SHARE;
    *next_ns = calm_ns > *next_ns ? calm_ns : *next_ns;
    if (walk->smaps_result != 0) {
        hs_source_tell_unread(sources, walk->pid, walk->time_ns, "smaps", walk->smaps_result,
                              &state->is_smaps_told);
    } else if (!walk->is_spare) {
        write_smaps(sources, state, walk);
    }
}

void hs_source_spare_write(struct hs_sources *sources, struct hs_source_process *state)
{
    if (state->spare && state->spare->time_ns > state->smaps_written_ns) {
        write_smaps(sources, state, state->spare);
    }
    if (state->smaps_written_ns == 0 && sources->settings.with_smaps_at_dumps &&
        !state->is_smaps_told) {
        state->is_smaps_told = true;
        hs_trace_writer_unread(sources->writer, (uint32_t)state->pid, hs_clock_ns(CLOCK_MONOTONIC),
                               "smaps", "the process ended before its mappings could be read");
        sources->packet_count++;
    }
}

void hs_source_walk_free(struct hs_source_walk *walk)
{
    if (walk) {
        hs_proc_smaps_close(&walk->smaps);
        free(walk);
    }
}

/* Writes the results of a walk to the trace, or keeps them. */
static void finish_walk(struct hs_sources *sources, struct hs_source_process *state,
                        struct hs_source_walk *walk)
{
    if (sources && walk->with_rollup) {
        take_rollup(sources, state, walk);
    }
    if (sources && walk->with_smaps) {
        take_smaps(sources, state, walk);
    }
    if (walk->is_spare && walk->smaps_result == 0) {
        hs_source_walk_free(state->spare);
        state->spare = walk;
    } else {
        hs_source_walk_free(walk);
    }
    const struct hs_source_walk next = state->after_spare;
    state->after_spare = (struct hs_source_walk){ 0 };
    if (sources && (next.with_rollup || next.with_smaps)) {
        begin(sources, state, &next);
    }
}

void hs_source_walk_take(struct hs_sources *sources, struct hs_source_process *state,
                         bool is_waiting)
{
    while (state->walk) {
        struct hs_source_walk *walk = state->walk;
        int r =
            is_waiting ? pthread_join(walk->thread, NULL) : pthread_tryjoin_np(walk->thread, NULL);
        if (r != 0) {
            return;
        }
        state->walk = NULL;
        finish_walk(sources, state, walk);
    }
}
