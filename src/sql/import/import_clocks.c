/*
 * Clocks: collects what clocks showed at the same moments, and converts any time to the trace's own
 * clock.
 *
 * Two clocks that were read in one snapshot are neighbours. A time is converted from neighbour to
 * neighbour along the shortest path, each time by the last snapshot at or before it, or by the
 * first snapshot if the time is earlier than all of them.
 *
 * Holds     at most CLOCKS_MAX clocks of all sequences together; further clocks are unknown.
 * See       import_state.h
 */
#include <errno.h>
#include <stdlib.h>

#include "sql/import/import_state.h"
#include "util/array.h"

#define CLOCKS_MAX         64U
#define SNAPSHOT_MAX       32U
#define SEQUENCE_CLOCK_MIN 64U
#define CLOCK_BOOTTIME     6U

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

struct hs_import_clocks {
    struct hs_intern ids; /* keys: (sequence, id) */
    struct clock clocks[CLOCKS_MAX];
    struct edge edges[CLOCKS_MAX][CLOCKS_MAX];
    uint32_t trace_clock;
    bool has_trace_clock;
};

int hs_import_clocks_new(struct hs_import_clocks **ret_clocks)
{
    struct hs_import_clocks *clocks = calloc(1, sizeof(*clocks));
    if (!clocks) {
        return -ENOMEM;
    }
    clocks->trace_clock = CLOCK_BOOTTIME;
    *ret_clocks = clocks;
    return 0;
}

void hs_import_clocks_free(struct hs_import_clocks *clocks)
{
    if (clocks) {
        for (uint32_t i = 0; i < CLOCKS_MAX * CLOCKS_MAX; i++) {
            free(clocks->edges[i / CLOCKS_MAX][i % CLOCKS_MAX].points);
        }
        hs_intern_deinit(&clocks->ids);
        free(clocks);
    }
}

uint32_t hs_import_trace_clock(const struct hs_import *import)
{
    return import->clocks->trace_clock;
}

static struct hs_intern_key clock_key(uint32_t sequence, uint32_t id)
{
    return (struct hs_intern_key){ .hi = id >= SEQUENCE_CLOCK_MIN && id < 128 ? sequence : 0,
                                   .lo = id };
}

/* Finds or adds a clock. CLOCKS_MAX: there is no room for it. */
static uint32_t clock_at(struct hs_import *import, uint32_t sequence, uint32_t id)
{
    struct hs_import_clocks *clocks = import->clocks;
    uint32_t idx;
    bool is_new;
    if (hs_intern_find(&clocks->ids, clock_key(sequence, id), &idx)) {
        return idx;
    }
    if (clocks->ids.count == CLOCKS_MAX) {
        return CLOCKS_MAX;
    }
    int err = hs_intern_put(&clocks->ids, clock_key(sequence, id), &idx, &is_new);
    if (err < 0) {
        import->store->err = err;
        return CLOCKS_MAX;
    }
    clocks->clocks[idx].unit_ns = 1;
    return idx;
}

static void add_point(struct hs_import *import, struct edge *edge, int64_t from_ns, int64_t to_ns)
{
    /* A snapshot that goes back in time would break the order of all others. A coarse clock shows
     * the same time in several snapshots: all of them are kept, and the last one is used, as in
     * trace_processor. */
    if (edge->count > 0 && edge->points[edge->count - 1].from_ns > from_ns) {
        hs_stat_count(import, HS_STAT_CLOCK_SYNC);
        return;
    }
    int err =
        hs_array_reserve(&edge->points, &edge->capacity, edge->count + 1, sizeof(edge->points[0]));
    if (err < 0) {
        import->store->err = err;
        return;
    }
    edge->points[edge->count++] = (struct point){ from_ns, to_ns };
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
static bool find_path(const struct hs_import_clocks *clocks, uint32_t from, uint32_t to,
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

bool hs_import_time(struct hs_import *import, uint32_t sequence, uint32_t clock_id, uint64_t value,
                    int64_t *ret_ns)
{
    const struct hs_import_clocks *clocks = import->clocks;
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

uint64_t hs_import_clock_step(struct hs_import *import, uint32_t sequence, uint32_t clock_id,
                              uint64_t value)
{
    uint32_t idx;
    if (hs_intern_find(&import->clocks->ids, clock_key(sequence, clock_id), &idx) &&
        import->clocks->clocks[idx].is_incremental) {
        import->clocks->clocks[idx].last += value;
        return import->clocks->clocks[idx].last;
    }
    return value;
}

static int64_t clock_name(struct hs_import *import, uint32_t id)
{
    static const char *const names[] = { NULL,
                                         "REALTIME",
                                         "REALTIME_COARSE",
                                         "MONOTONIC",
                                         "MONOTONIC_COARSE",
                                         "MONOTONIC_RAW",
                                         "BOOTTIME",
                                         NULL,
                                         NULL,
                                         "TSC",
                                         "PERF",
                                         "TRACE_FILE" };
    return hs_sql_store_str(import->store,
                            id < sizeof(names) / sizeof(names[0]) ? names[id] : NULL);
}

static void add_rows(struct hs_import *import, uint32_t sequence,
                     const Hs__Pb__ClockSnapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->n_clocks; i++) {
        const Hs__Pb__ClockSnapshot__Clock *clock = snapshot->clocks[i];
        int64_t ns;
        if (hs_import_time(import, sequence, clock->clock_id, clock->timestamp, &ns)) {
            HS_SQL_ADD(import->store, HS_SQL_CLOCK, ns, clock->clock_id,
                       clock_name(import, clock->clock_id), (int64_t)clock->timestamp,
                       import->snapshot_count, HS_ROWS_NULL);
        }
    }
}

void hs_import_clock_snapshot(struct hs_import *import, uint32_t sequence,
                              const Hs__Pb__ClockSnapshot *snapshot)
{
    struct hs_import_clocks *clocks = import->clocks;
    uint32_t at[SNAPSHOT_MAX];
    int64_t ns[SNAPSHOT_MAX];
    uint32_t count = 0;
    if (snapshot->primary_trace_clock != 0 && !clocks->has_trace_clock) {
        clocks->trace_clock = snapshot->primary_trace_clock;
        clocks->has_trace_clock = true;
    }
    for (size_t i = 0; i < snapshot->n_clocks && count < SNAPSHOT_MAX; i++) {
        const Hs__Pb__ClockSnapshot__Clock *clock = snapshot->clocks[i];
        uint32_t idx = clock_at(import, sequence, clock->clock_id);
        if (idx < CLOCKS_MAX) {
            clocks->clocks[idx].unit_ns = clock->unit_multiplier_ns ? clock->unit_multiplier_ns : 1;
            clocks->clocks[idx].is_incremental = clock->is_incremental;
            clocks->clocks[idx].last = clock->timestamp;
            at[count] = idx;
            ns[count++] = (int64_t)(clock->timestamp * clocks->clocks[idx].unit_ns);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < count; k++) {
            if (at[i] != at[k]) {
                add_point(import, &clocks->edges[at[i]][at[k]], ns[i], ns[k]);
            }
        }
    }
    add_rows(import, sequence, snapshot);
    import->snapshot_count++;
}
