/*
 * Looks at the region of a process: see watch_look.h.
 */
#include "watch/send/watch_look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/region/capture_tables.h"
#include "rt/check.h"
#include "watch/send/watch_parts.h"

/* The records are read after this time even if no counter has moved: some changes are not counted,
 * such as a block that is resized where it is. */
#define SETTLED_MAX_NS UINT64_C(10000000000)

bool hs_watch_look_knows(const struct hs_watch_look *look, uint32_t stack_id)
{
    const struct hs_snapshot *tables = look->tables;
    return tables && stack_id < tables->stack_count && tables->stacks[stack_id].frame_count > 0;
}

static bool is_same(const struct hs_live_progress *a, const struct hs_live_progress *b)
{
    return a->sample_count == b->sample_count && a->free_count == b->free_count &&
           a->lost_count == b->lost_count && a->live_bytes == b->live_bytes;
}

/* Has nothing changed since the records were read? A thread moves its counter a moment before or
 * after its record changes, so one look must have been made after the counters stood still. */
static bool has_stood_still(struct hs_watch_look *look, const struct hs_live_progress *now,
                            uint64_t now_ns)
{
    bool is_still = look->time_ns != 0 && is_same(&look->progress, now);
    bool was_still = look->has_settled;
    look->progress = *now;
    look->has_settled = is_still;
    return is_still && was_still && now_ns - look->time_ns < SETTLED_MAX_NS;
}

/* Are there stacks with figures whose frames are not known? */
static bool lacks_stacks(const struct hs_watch_look *look)
{
    const struct hs_live_totals *totals = &look->totals;
    for (uint32_t i = 0; i < totals->stack_count; i++) {
        if (totals->of_stack[i].alloc.bytes > 0 && !hs_watch_look_knows(look, i)) {
            return true;
        }
    }
    return false;
}

static int read_tables(struct hs_watch_look *look, const struct hs_region *region)
{
    const struct hs_estimate of_threads = { 0 };
    struct hs_snapshot *tables = calloc(1, sizeof(*tables));
    if (!tables) {
        return -ENOMEM;
    }
    tables->stack_count = look->totals.stack_count;
    tables->stacks = calloc((size_t)tables->stack_count + 1, sizeof(*tables->stacks));
    int r = tables->stacks ? hs_capture_tables(region, &look->totals.stacks, &look->totals.heaps,
                                               &of_threads, 1, tables)
                           : -ENOMEM;
    if (r < 0) {
        hs_snapshot_free(tables);
        return r;
    }
    hs_snapshot_free(look->tables);
    look->tables = tables;
    HS_ASSERT(tables->module_count > 0);
    return 0;
}

int hs_watch_look(struct hs_watch_look *look, struct hs_region *region, uint64_t now_ns)
{
    struct hs_live_progress now;
    int r = hs_region_refresh(region);
    r = r < 0 ? r : hs_live_progress_read(region, &now);
    if (r < 0 || has_stood_still(look, &now, now_ns)) {
        return r;
    }
    r = hs_live_totals_read(region, &look->totals);
    if (r == 0 && (!look->tables || lacks_stacks(look))) {
        r = read_tables(look, region);
    }
    r = r < 0 ? r : hs_watch_parts_make(region, &look->totals, look->tables);
    if (r < 0) {
        return r;
    }
    look->time_ns = now_ns;
    return 1;
}

void hs_watch_look_deinit(struct hs_watch_look *look)
{
    hs_live_totals_deinit(&look->totals);
    hs_snapshot_free(look->tables);
    *look = (struct hs_watch_look){ 0 };
}
