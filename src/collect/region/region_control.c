/*
 * Writes the control page: see region_control.h.
 */
#include "collect/region/region_control.h"

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

void hs_region_control_begin(struct hs_region *region, uint64_t interval_bytes)
{
    hs_store_relaxed(&region->control->interval_bytes, interval_bytes);
    announce_interval(region->control);
}

void hs_region_control_set_interval(struct hs_region *region, uint64_t interval_bytes)
{
    struct hs_region_control_v1 *control = region->control;
    uint64_t present_bytes = hs_load_relaxed(&control->interval_bytes);
    if (present_bytes != HS_INTERVAL_OFF &&
        hs_cas_relaxed(&control->interval_bytes, &present_bytes, interval_bytes)) {
        announce_interval(control);
    }
}

void hs_region_control_renew(struct hs_region *region, uint64_t interval_bytes)
{
    struct hs_region_control_v1 *control = region->control;
    hs_store_relaxed(&control->interval_bytes, interval_bytes);
    /* ORDER session: its interval before it. A thread may see it before the new generation. */
    hs_store_release(&control->session, hs_load_relaxed(&control->session) + 1);
    hs_region_control_begin(region, interval_bytes);
}

void hs_region_control_set_collector(struct hs_region *region, pid_t pid, uint64_t start_ticks)
{
    hs_store_relaxed(&region->control->collector_start_ticks, start_ticks);
    hs_store_relaxed(&region->control->collector_pid, (uint32_t)pid);
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
