/*
 * Writes the control page: see region_control.h.
 */
#include "collect/region/region_control.h"

#include <string.h>

#include "rt/atomic.h"

uint64_t hs_region_control_interval(const struct hs_region *region)
{
    uint64_t interval_bytes = hs_load_relaxed(&region->control->interval_bytes);
    return interval_bytes == HS_INTERVAL_OFF ? 0 : interval_bytes;
}

/* Tells the client that it has another interval. */
static void announce_interval(struct hs_region_control_v1 *control)
{
    /* ORDER settings: the interval before its generation. */
    hs_store_release(&control->generation, hs_load_relaxed(&control->generation) + 1);
    /* Every thread takes the slow path once, and sees the new generation there. */
    hs_add_relaxed(&control->floor_bytes, HS_FLOOR_STEP);
}

void hs_region_control_announce(struct hs_region *region)
{
    announce_interval(region->control);
}

static bool has_lifetimes(const struct hs_region_control_v1 *control)
{
    return (hs_load_relaxed(&control->flags) & HS_CONTROL_LIFETIMES) != 0;
}

static bool is_native_only(const struct hs_region_control_v1 *control)
{
    return (hs_load_relaxed(&control->flags) & HS_CONTROL_NATIVE_ONLY) != 0;
}

bool hs_region_control_has_heaps(const struct hs_region *region, const struct hs_heap_page *heaps)
{
    const struct hs_region_control_v1 *control = region->control;
    bool is_without_malloc = (hs_load_relaxed(&control->flags) & HS_CONTROL_NO_MALLOC) != 0;
    return region->header.version == 1 ||
           (is_without_malloc == heaps->is_without_malloc &&
            has_lifetimes(control) == heaps->has_lifetimes &&
            is_native_only(control) == heaps->is_native_only &&
            memcmp(&control->heap_selection, &heaps->selection, sizeof(heaps->selection)) == 0);
}

void hs_region_control_get_heaps(const struct hs_region *region, struct hs_heap_page *ret_heaps)
{
    const struct hs_region_control_v1 *control = region->control;
    *ret_heaps = (struct hs_heap_page){ .selection.other_interval_bytes = HS_INTERVAL_SAME };
    if (region->header.version != 1) {
        ret_heaps->is_without_malloc =
            (hs_load_relaxed(&control->flags) & HS_CONTROL_NO_MALLOC) != 0;
        ret_heaps->has_lifetimes = has_lifetimes(control);
        ret_heaps->is_native_only = is_native_only(control);
        memcpy(&ret_heaps->selection, &control->heap_selection, sizeof(ret_heaps->selection));
    }
}

/* Writes the selection, which counts from the next generation on. A thread that copies a rule
 * meanwhile reads a part of it, and copies it again when the generation has changed. */
static void write_heaps(struct hs_region *region, const struct hs_heap_page *heaps)
{
    struct hs_region_control_v1 *control = region->control;
    if (hs_region_control_has_heaps(region, heaps)) {
        return;
    }
    const uint32_t all = HS_CONTROL_NO_MALLOC | HS_CONTROL_LIFETIMES | HS_CONTROL_NATIVE_ONLY;
    uint32_t flags = (heaps->is_without_malloc ? HS_CONTROL_NO_MALLOC : 0U) |
                     (heaps->has_lifetimes ? HS_CONTROL_LIFETIMES : 0U) |
                     (heaps->is_native_only ? HS_CONTROL_NATIVE_ONLY : 0U);
    hs_store_relaxed(&control->flags, (hs_load_relaxed(&control->flags) & ~all) | flags);
    memcpy(&control->heap_selection, &heaps->selection, sizeof(heaps->selection));
}

void hs_region_control_begin(struct hs_region *region, uint64_t interval_bytes,
                             const struct hs_heap_page *heaps)
{
    write_heaps(region, heaps);
    hs_store_relaxed(&region->control->interval_bytes, interval_bytes);
    announce_interval(region->control);
}

void hs_region_control_end(struct hs_region *region)
{
    static const struct hs_heap_page all = { .selection.other_interval_bytes = HS_INTERVAL_SAME };
    hs_store_relaxed(&region->control->interval_bytes, HS_INTERVAL_OFF);
    announce_interval(region->control);
    /* Without a generation of its own: it makes no difference as long as nothing is recorded. */
    write_heaps(region, &all);
}

void hs_region_control_set_interval(struct hs_region *region, uint64_t interval_bytes,
                                    const struct hs_heap_page *heaps)
{
    struct hs_region_control_v1 *control = region->control;
    uint64_t present_bytes = hs_load_relaxed(&control->interval_bytes);
    write_heaps(region, heaps);
    if (present_bytes != HS_INTERVAL_OFF &&
        hs_cas_relaxed(&control->interval_bytes, &present_bytes, interval_bytes)) {
        announce_interval(control);
    }
}

void hs_region_control_renew(struct hs_region *region, uint64_t interval_bytes,
                             const struct hs_heap_page *heaps)
{
    struct hs_region_control_v1 *control = region->control;
    write_heaps(region, heaps);
    hs_store_relaxed(&control->interval_bytes, interval_bytes);
    /* ORDER session: its interval before it. A thread may see it before the new generation. */
    hs_store_release(&control->session, hs_load_relaxed(&control->session) + 1);
    hs_region_control_begin(region, interval_bytes, heaps);
}

void hs_region_control_set_collector(struct hs_region *region, pid_t pid, uint64_t start_ticks)
{
    hs_store_relaxed(&region->control->collector_start_ticks, start_ticks);
    hs_store_relaxed(&region->control->collector_pid, (uint32_t)pid);
}

void hs_region_control_set_partial(struct hs_region *region)
{
    uint32_t flags = hs_load_relaxed(&region->control->flags);
    hs_store_relaxed(&region->control->flags, flags | HS_CONTROL_PARTIAL);
}

bool hs_region_control_is_partial(const struct hs_region *region)
{
    return (hs_load_relaxed(&region->control->flags) & HS_CONTROL_PARTIAL) != 0;
}

void hs_region_control_set_clock(struct hs_region *region, uint64_t now_ns)
{
    uint64_t age_ns = now_ns - region->header.start_mono_ns;
    hs_store_relaxed(&region->control->collector_ms, (uint32_t)(age_ns / 1000000));
}

void hs_region_control_set_limits(struct hs_region *region, uint64_t memory_bytes, bool is_timed)
{
    hs_store_relaxed(&region->control->region_limit_bytes, memory_bytes);
    uint32_t flags = hs_load_relaxed(&region->control->flags) & ~(uint32_t)HS_CONTROL_TIMED;
    hs_store_relaxed(&region->control->flags, flags | (is_timed ? HS_CONTROL_TIMED : 0));
}
