/*
 * Keeps two earlier states: see watch_growth.h.
 */
#include "watch/receive/watch_growth.h"

#include <stdlib.h>

#include "util/array.h"

static int remember(struct hs_watch_past *past, const struct hs_snapshot *snap)
{
    int r = hs_array_reserve(&past->live_bytes, &past->capacity, (size_t)snap->stack_count + 1,
                             sizeof(past->live_bytes[0]));
    if (r < 0) {
        return r;
    }
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        past->live_bytes[i] = snap->stacks[i].live.bytes;
    }
    past->count = snap->stack_count;
    past->time_ns = snap->time_mono_ns;
    past->all_bytes = snap->live.bytes;
    return 0;
}

int hs_watch_growth_note(struct hs_watch_growth *growth, const struct hs_watch_state *state)
{
    const struct hs_snapshot *snap = state->snap;
    if (growth->older.time_ns == 0) {
        return remember(&growth->older, snap);
    }
    if (growth->newer.time_ns == 0 ||
        snap->time_mono_ns < growth->newer.time_ns + HS_WATCH_WINDOW_NS) {
        return growth->newer.time_ns == 0 &&
                       snap->time_mono_ns >= growth->older.time_ns + HS_WATCH_WINDOW_NS
                   ? remember(&growth->newer, snap)
                   : 0;
    }
    const struct hs_watch_past spare = growth->older;
    growth->older = growth->newer;
    growth->newer = spare;
    growth->newer.time_ns = 0;
    return remember(&growth->newer, snap);
}

static double rate(const struct hs_watch_growth *growth, const struct hs_snapshot *snap,
                   double now_bytes, double then_bytes)
{
    uint64_t then_ns = growth->older.time_ns;
    return then_ns == 0 || snap->time_mono_ns <= then_ns
               ? 0
               : (now_bytes - then_bytes) / ((double)(snap->time_mono_ns - then_ns) / 1e9);
}

double hs_watch_growth_of(const struct hs_watch_growth *growth, const struct hs_watch_state *state,
                          uint32_t stack_id)
{
    const struct hs_watch_past *then = &growth->older;
    if (stack_id >= state->snap->stack_count) {
        return 0;
    }
    return rate(growth, state->snap, state->snap->stacks[stack_id].live.bytes,
                stack_id < then->count ? then->live_bytes[stack_id] : 0);
}

double hs_watch_growth_of_all(const struct hs_watch_growth *growth,
                              const struct hs_watch_state *state)
{
    return rate(growth, state->snap, state->snap->live.bytes, growth->older.all_bytes);
}

void hs_watch_growth_deinit(struct hs_watch_growth *growth)
{
    free(growth->older.live_bytes);
    free(growth->newer.live_bytes);
    *growth = (struct hs_watch_growth){ .older = { 0 } };
}
