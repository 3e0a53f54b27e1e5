/*
 * Finds the times of losses: see loss_watch.h.
 */
#include "collect/loss_watch.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collect/region/live_totals.h"
#include "rt/check.h"
#include "rt/clock.h"

#define LOOK_NS UINT64_C(250000000)
/* A look takes at most this part of the time. */
#define LOOK_SHARE 200U
/* A process with more threads is not looked at: the snapshots alone tell its times. */
#define BLOCKS_MAX 4096U

static_assert(HS_SNAP_LOSS_TIMES_MAX > HS_LOSS_N, "of so many spans, two are of one kind");

/* --- spans ------------------------------------------------------------------------------------ */

/* Makes room for one more span: joins the two of one kind with the shortest pause in between. */
static void join_nearest(struct hs_loss_watch *watch)
{
    uint64_t least_ns = UINT64_MAX;
    uint32_t at[HS_LOSS_N], first = 0, second = 0;
    memset(at, 0xFF, sizeof(at));
    for (uint32_t i = 0; i < watch->count; i++) {
        const struct hs_snap_loss_time *it = &watch->times[i];
        uint32_t before = at[it->loss];
        if (before != UINT32_MAX) {
            uint64_t ended_ns = watch->times[before].to_mono_ns;
            uint64_t pause_ns = it->from_mono_ns > ended_ns ? it->from_mono_ns - ended_ns : 0;
            if (pause_ns < least_ns) {
                least_ns = pause_ns;
                first = before;
                second = i;
            }
        }
        at[it->loss] = i;
    }
    HS_ASSERT(first < second);
    watch->times[first].to_mono_ns = watch->times[second].to_mono_ns;
    watch->times[first].count += watch->times[second].count;
    watch->count--;
    memmove(watch->times + second, watch->times + second + 1,
            (watch->count - second) * sizeof(watch->times[0]));
}

/* The span of this kind that lasted until the last look; NULL: there is none. */
static struct hs_snap_loss_time *find_open(struct hs_loss_watch *watch, uint32_t loss)
{
    for (uint32_t i = watch->count; i > 0; i--) {
        struct hs_snap_loss_time *it = &watch->times[i - 1];
        if (it->loss == loss) {
            return it->to_mono_ns == watch->end_ns ? it : NULL;
        }
    }
    return NULL;
}

static void add(struct hs_loss_watch *watch, uint32_t loss, uint64_t count, uint64_t from_ns,
                uint64_t to_ns)
{
    struct hs_snap_loss_time *open = find_open(watch, loss);
    if (open) {
        open->to_mono_ns = to_ns;
        open->count += count;
        return;
    }
    if (watch->count == HS_SNAP_LOSS_TIMES_MAX) {
        join_nearest(watch);
    }
    watch->times[watch->count++] = (struct hs_snap_loss_time){
        .from_mono_ns = from_ns, .to_mono_ns = to_ns, .count = count, .loss = loss
    };
}

void hs_loss_watch_note(struct hs_loss_watch *watch, const uint64_t counts[HS_LOSS_N],
                        uint64_t start_ns, uint64_t begin_ns, uint64_t end_ns)
{
    uint64_t from_ns = watch->begin_ns ? watch->begin_ns : start_ns;
    for (uint32_t k = 0; k < HS_LOSS_N; k++) {
        /* The process may have written anything there: what falls is taken as not grown. */
        if (counts[k] <= watch->seen_count[k]) {
            continue;
        }
        if (!watch->times) {
            watch->times = calloc(HS_SNAP_LOSS_TIMES_MAX, sizeof(watch->times[0]));
        }
        if (watch->times) {
            add(watch, k, counts[k] - watch->seen_count[k], from_ns < end_ns ? from_ns : end_ns,
                end_ns);
        }
        watch->seen_count[k] = counts[k];
    }
    watch->begin_ns = begin_ns;
    watch->end_ns = end_ns;
    HS_ASSERT(watch->count <= HS_SNAP_LOSS_TIMES_MAX);
}

void hs_loss_watch_deinit(struct hs_loss_watch *watch)
{
    free(watch->times);
    *watch = (struct hs_loss_watch){ 0 };
}

/* --- looks ------------------------------------------------------------------------------------ */

void hs_loss_watch_look(struct hs_loss_watch *watch, const struct hs_region *region,
                        uint64_t start_ns, uint64_t now_ns)
{
    struct hs_live_progress progress;
    if (now_ns < watch->next_ns) {
        return;
    }
    uint64_t begin_ns = hs_clock_ns(CLOCK_MONOTONIC);
    bool is_read = hs_region_count(region, HS_SECTION_BLOCKS) <= BLOCKS_MAX &&
                   hs_live_progress_read(region, &progress) == 0;
    uint64_t end_ns = hs_clock_ns(CLOCK_MONOTONIC);
    if (is_read) {
        hs_loss_watch_note(watch, progress.lost_count_of, start_ns, begin_ns, end_ns);
    }
    uint64_t rest_ns = (end_ns - begin_ns) * LOOK_SHARE;
    watch->next_ns = end_ns + (rest_ns > LOOK_NS ? rest_ns : LOOK_NS);
}

void hs_loss_watch_describe(struct hs_loss_watch *watch, uint64_t start_ns, uint64_t end_ns,
                            struct hs_snapshot *snap)
{
    uint64_t instant_ns = snap->time_mono_ns < end_ns ? snap->time_mono_ns : end_ns;
    hs_loss_watch_note(watch, snap->lost_count, start_ns, instant_ns, end_ns);
    snap->loss_times = watch->count > 0 ? calloc(watch->count, sizeof(snap->loss_times[0])) : NULL;
    for (uint32_t i = 0; snap->loss_times && i < watch->count; i++) {
        if (snap->lost_count[watch->times[i].loss] > 0) {
            snap->loss_times[snap->loss_time_count++] = watch->times[i];
        }
    }
}
