/*
 * What makes the kernel walk all pages of a process: its shares of them (smaps_rollup), and its mappings (smaps).
 *
 * That takes 50 ms for each GiB in small pages, in one call that cannot be taken in steps, so a thread does it, one at
 * a time for a process, while dumps go on. It reads files and nothing else, with all signals blocked.
 *
 * Holds     the walk's fields are the thread's from its start until it is joined.
 * See       sources_state.h
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "sources/sources_state.h"

/* Read in a buffer on the stack. */
#define STACK_BYTES ((size_t)PTHREAD_STACK_MIN + (512U << 10))
/* Parts of the time, however often dumps come. */
#define ROLLUP_SHARE 100U
#define SMAPS_SHARE  10U

static uint64_t clock_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

/* Of a process that ends meanwhile the file just ends, too. */
static bool has_memory(const struct hs_source_walk *walk)
{
    struct hs_counters counters = { 0 };
    return hs_proc_read_counters(walk->folder, walk->pid, &counters, NULL) == 0 &&
           hs_counters_have(&counters, HS_COUNTER_RSS);
}

static void *walk_pages(void *of)
{
    struct hs_source_walk *walk = of;
    uint64_t begin_ns = clock_ns();
    if (walk->with_rollup) {
        walk->rollup_result = hs_proc_read_rollup(walk->folder, walk->pid, &walk->shares);
    }
    walk->rollup_ns = clock_ns() - begin_ns;
    if (walk->with_smaps) {
        int r = hs_proc_smaps_open(&walk->smaps, walk->folder, walk->pid);
        r = r < 0 ? r : hs_proc_smaps_step(&walk->smaps, UINT64_MAX);
        walk->smaps_result = r < 0 || has_memory(walk) ? r : -ESRCH;
    }
    walk->smaps_ns = clock_ns() - begin_ns - walk->rollup_ns;
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

void hs_source_walk_begin(struct hs_sources *sources, struct hs_source_process *state,
                          uint64_t now_ns, bool with_rollup, bool with_smaps)
{
    with_rollup &= now_ns >= state->rollup_next_ns;
    with_smaps &= now_ns >= state->smaps_next_ns;
    if (state->walk || (!with_rollup && !with_smaps)) {
        return; /* of the dump before, still; or it would take too much */
    }
    struct hs_source_walk *walk = calloc(1, sizeof(*walk));
    if (!walk) {
        return;
    }
    *walk = (struct hs_source_walk){ .folder = sources->folder,
                                     .pid = state->pid,
                                     .time_ns = now_ns,
                                     .with_rollup = with_rollup,
                                     .with_smaps = with_smaps,
                                     .smaps.fd = -1 };
    if (start_thread(walk) < 0) {
        free(walk);
        return;
    }
    state->walk = walk;
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
        /* Who may not read it now may not later. */
        state->rollup_next_ns = walk->rollup_result == -ESRCH ? state->rollup_next_ns : UINT64_MAX;
        hs_source_tell_unread(sources, walk->pid, walk->time_ns, "smaps_rollup",
                              walk->rollup_result, &state->is_rollup_told);
    }
}

static void take_smaps(struct hs_sources *sources, struct hs_source_process *state,
                       const struct hs_source_walk *walk)
{
    state->smaps_next_ns = walk->time_ns + walk->smaps_ns * SMAPS_SHARE;
    if (walk->smaps_result == 0) {
        hs_trace_writer_smaps(sources->writer, (uint32_t)walk->pid, walk->time_ns,
                              &walk->smaps.sums);
        sources->packet_count++;
    } else {
        hs_source_tell_unread(sources, walk->pid, walk->time_ns, "smaps", walk->smaps_result,
                              &state->is_smaps_told);
    }
}

void hs_source_walk_take(struct hs_sources *sources, struct hs_source_process *state,
                         bool is_waiting)
{
    struct hs_source_walk *walk = state->walk;
    if (!walk || (!is_waiting && pthread_tryjoin_np(walk->thread, NULL) != 0)) {
        return;
    }
    if (is_waiting) {
        pthread_join(walk->thread, NULL);
    }
    state->walk = NULL;
    if (sources && walk->with_rollup) {
        take_rollup(sources, state, walk);
    }
    if (sources && walk->with_smaps) {
        take_smaps(sources, state, walk);
    }
    hs_proc_smaps_close(&walk->smaps);
    free(walk);
}
