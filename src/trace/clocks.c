/*
 * See clocks.h.
 */
#include "trace/clocks.h"

#include <errno.h>
#include <stdlib.h>

#include "rt/check.h"
#include "util/array.h"
#include "util/intern.h"

#define CLOCKS_MAX         64U
#define SNAPSHOT_MAX       32U
#define SEQUENCE_CLOCK_MIN 64U

struct point {
    int64_t from_ns, to_ns;
};

struct edge {
    struct point *points; /* sorted by from_ns */
    size_t count, capacity;
};

struct clock {
    uint64_t unit_ns;
    bool is_incremental;
    uint64_t last; /* current value of an incremental clock */
};

struct hs_clocks {
    struct hs_intern ids; /* keys: (sequence, id) */
    struct clock clocks[CLOCKS_MAX];
    struct edge edges[CLOCKS_MAX][CLOCKS_MAX];
    uint32_t trace_clock;
    bool has_trace_clock;
    uint64_t back_count;
    /* by the last snapshots that tell them: */
    bool has_boot_shift, has_real_shift;
    uint64_t boot_minus_mono_ns, real_minus_mono_ns;
};

int hs_clocks_new(struct hs_clocks **ret_clocks)
{
    struct hs_clocks *clocks = calloc(1, sizeof(*clocks));
    if (!clocks) {
        return -ENOMEM;
    }
    clocks->trace_clock = HS_CLOCK_BOOTTIME;
    *ret_clocks = clocks;
    return 0;
}

void hs_clocks_free(struct hs_clocks *clocks)
{
    if (clocks) {
        for (uint32_t i = 0; i < CLOCKS_MAX * CLOCKS_MAX; i++) {
            free(clocks->edges[i / CLOCKS_MAX][i % CLOCKS_MAX].points);
        }
        hs_intern_deinit(&clocks->ids);
        free(clocks);
    }
}

uint32_t hs_clocks_trace_clock(const struct hs_clocks *clocks)
{
    return clocks->trace_clock;
}

static struct hs_intern_key clock_key(uint32_t sequence, uint32_t id)
{
    return (struct hs_intern_key){ .hi = id >= SEQUENCE_CLOCK_MIN && id < 128 ? sequence : 0,
                                   .lo = id };
}

/* Finds or adds a clock. CLOCKS_MAX: there is no room for it. */
static int clock_at(struct hs_clocks *clocks, uint32_t sequence, uint32_t id, uint32_t *ret_idx)
{
    bool is_new;
    *ret_idx = CLOCKS_MAX;
    if (hs_intern_find(&clocks->ids, clock_key(sequence, id), ret_idx)) {
        return 0;
    }
    if (clocks->ids.count == CLOCKS_MAX) {
        return 0;
    }
    int err = hs_intern_put(&clocks->ids, clock_key(sequence, id), ret_idx, &is_new);
    if (err == 0) {
        HS_ASSERT(*ret_idx < CLOCKS_MAX);
        clocks->clocks[*ret_idx].unit_ns = 1;
    }
    return err;
}

static int add_point(struct hs_clocks *clocks, struct edge *edge, int64_t from_ns, int64_t to_ns)
{
    /* A coarse clock shows the same time in several snapshots: all of them are kept, and the last
     * one is used, as in trace_processor. */
    if (edge->count > 0 && edge->points[edge->count - 1].from_ns > from_ns) {
        clocks->back_count++;
        return 0;
    }
    int err =
        hs_array_reserve(&edge->points, &edge->capacity, edge->count + 1, sizeof(edge->points[0]));
    if (err == 0) {
        edge->points[edge->count++] = (struct point){ from_ns, to_ns };
    }
    return err;
}

static int64_t wrapping_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t convert(const struct edge *edge, int64_t at_ns)
{
    size_t low = 0, high = edge->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (edge->points[middle].from_ns <= at_ns) {
            low = middle;
        } else {
            high = middle;
        }
    }
    const struct point *point = &edge->points[low];
    return wrapping_add(point->to_ns, (int64_t)((uint64_t)at_ns - (uint64_t)point->from_ns));
}

/* Searches breadth first. `ret_next[i]` is the clock after i on the path to `to`. */
static bool find_path(const struct hs_clocks *clocks, uint32_t from, uint32_t to,
                      uint8_t ret_next[CLOCKS_MAX])
{
    uint32_t queue[CLOCKS_MAX], head = 0, tail = 0;
    bool is_seen[CLOCKS_MAX] = { false };
    queue[tail++] = to;
    is_seen[to] = true;
    while (head < tail && !is_seen[from]) {
        uint32_t at = queue[head++];
        for (uint32_t i = 0; i < clocks->ids.count; i++) {
            if (!is_seen[i] && clocks->edges[i][at].count > 0) {
                is_seen[i] = true;
                ret_next[i] = (uint8_t)at;
                queue[tail++] = i;
            }
        }
    }
    return is_seen[from];
}

bool hs_clocks_convert(const struct hs_clocks *clocks, uint32_t sequence, uint32_t clock_id,
                       uint64_t value, int64_t *ret_ns)
{
    uint32_t at, to;
    uint8_t next[CLOCKS_MAX];
    if (clock_id == clocks->trace_clock) {
        *ret_ns = (int64_t)value;
        return true;
    }
    if (!hs_intern_find(&clocks->ids, clock_key(sequence, clock_id), &at) ||
        !hs_intern_find(&clocks->ids, clock_key(0, clocks->trace_clock), &to)) {
        return false;
    }
    int64_t at_ns = (int64_t)(value * clocks->clocks[at].unit_ns);
    if (clocks->edges[at][to].count == 0 && !find_path(clocks, at, to, next)) {
        return false;
    }
    while (at != to) {
        uint32_t then = clocks->edges[at][to].count > 0 ? to : next[at];
        at_ns = convert(&clocks->edges[at][then], at_ns);
        at = then;
    }
    *ret_ns = at_ns;
    return true;
}

uint64_t hs_clocks_step(struct hs_clocks *clocks, uint32_t sequence, uint32_t clock_id,
                        uint64_t value)
{
    uint32_t idx;
    if (hs_intern_find(&clocks->ids, clock_key(sequence, clock_id), &idx) &&
        clocks->clocks[idx].is_incremental) {
        clocks->clocks[idx].last += value;
        return clocks->clocks[idx].last;
    }
    return value;
}

/* --- snapshots --- */

static void note_shifts(struct hs_clocks *clocks, const Hs__Pb__ClockSnapshot *snapshot)
{
    uint64_t real_ns = 0, mono_ns = 0, boot_ns = 0;
    for (size_t i = 0; i < snapshot->n_clocks; i++) {
        const Hs__Pb__ClockSnapshot__Clock *clock = snapshot->clocks[i];
        if (clock->clock_id == HS_CLOCK_REALTIME) {
            real_ns = clock->timestamp;
        } else if (clock->clock_id == HS_CLOCK_BOOTTIME) {
            boot_ns = clock->timestamp;
        } else if (clock->clock_id == HS_CLOCK_MONOTONIC ||
                   (clock->clock_id == HS_CLOCK_MONOTONIC_COARSE && mono_ns == 0)) {
            mono_ns = clock->timestamp;
        }
    }
    if (boot_ns != 0 && mono_ns != 0) {
        clocks->has_boot_shift = true;
        clocks->boot_minus_mono_ns = boot_ns - mono_ns;
    }
    if (real_ns > mono_ns && mono_ns != 0) {
        clocks->has_real_shift = true;
        clocks->real_minus_mono_ns = real_ns - mono_ns;
    }
}

bool hs_clocks_last_shift(const struct hs_clocks *clocks, uint32_t clock_id, uint64_t *ret_ns)
{
    if (clock_id == HS_CLOCK_BOOTTIME && clocks->has_boot_shift) {
        *ret_ns = clocks->boot_minus_mono_ns;
        return true;
    }
    if (clock_id == HS_CLOCK_REALTIME && clocks->has_real_shift) {
        *ret_ns = clocks->real_minus_mono_ns;
        return true;
    }
    return false;
}

uint64_t hs_clocks_back_count(const struct hs_clocks *clocks)
{
    return clocks->back_count;
}

int hs_clocks_take(struct hs_clocks *clocks, uint32_t sequence,
                   const Hs__Pb__ClockSnapshot *snapshot)
{
    uint32_t at[SNAPSHOT_MAX];
    int64_t ns[SNAPSHOT_MAX];
    uint32_t count = 0;
    int err = 0;
    note_shifts(clocks, snapshot);
    if (snapshot->primary_trace_clock != 0 && !clocks->has_trace_clock) {
        clocks->trace_clock = snapshot->primary_trace_clock;
        clocks->has_trace_clock = true;
    }
    for (size_t i = 0; i < snapshot->n_clocks && count < SNAPSHOT_MAX && err == 0; i++) {
        const Hs__Pb__ClockSnapshot__Clock *clock = snapshot->clocks[i];
        uint32_t idx;
        err = clock_at(clocks, sequence, clock->clock_id, &idx);
        if (err == 0 && idx < CLOCKS_MAX) {
            clocks->clocks[idx].unit_ns = clock->unit_multiplier_ns ? clock->unit_multiplier_ns : 1;
            clocks->clocks[idx].is_incremental = clock->is_incremental;
            clocks->clocks[idx].last = clock->timestamp;
            at[count] = idx;
            ns[count++] = (int64_t)(clock->timestamp * clocks->clocks[idx].unit_ns);
        }
    }
    for (uint32_t i = 0; i < count && err == 0; i++) {
        for (uint32_t k = 0; k < count && err == 0; k++) {
            if (at[i] != at[k]) {
                err = add_point(clocks, &clocks->edges[at[i]][at[k]], ns[i], ns[k]);
            }
        }
    }
    return err;
}
