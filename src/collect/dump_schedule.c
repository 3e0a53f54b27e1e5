/*
 * Schedules, peaks and limits: see dump_schedule.h.
 */
#include "collect/dump_schedule.h"

#include "rt/atomic.h"

/* A new peak causes a dump when it is this much higher than the last one, and this much time has
 * passed. */
#define HS_PEAK_STEP_SHIFT 4 /* 1/16 */
#define HS_PEAK_STEP_BYTES (1 << 16)
#define HS_PEAK_PAUSE_NS   UINT64_C(1000000000)

const char *hs_dump_schedule_check(const struct hs_dump_schedule *schedule)
{
    return schedule->phase_ns > 0 && schedule->every_ns == 0 ? "--dump-phase goes with --dump-every"
                                                             : NULL;
}

uint64_t hs_dump_first_ns(const struct hs_dump_schedule *schedule, uint64_t start_ns)
{
    if (schedule->every_ns == 0) {
        return UINT64_MAX;
    }
    return start_ns + (schedule->phase_ns ? schedule->phase_ns : schedule->every_ns);
}

bool hs_dump_take_due(const struct hs_dump_schedule *schedule, uint64_t now_ns, uint64_t *next_ns)
{
    if (schedule->every_ns == 0 || now_ns < *next_ns) {
        return false;
    }
    *next_ns += (1 + (now_ns - *next_ns) / schedule->every_ns) * schedule->every_ns;
    return true;
}

static bool is_above(struct hs_dump_watch *watch, uint64_t limit_bytes, int64_t live_bytes)
{
    uint64_t live = live_bytes > 0 ? (uint64_t)live_bytes : 0;
    bool was_above = watch->is_above;
    /* The limit is armed again when the total has fallen clearly below it. */
    watch->is_above = live > limit_bytes || (was_above && live > limit_bytes - limit_bytes / 8);
    return watch->is_above && !was_above;
}

/* While the total rises, the client has not marked a peak: the peak is now. */
static bool is_new_peak(struct hs_dump_watch *watch, int64_t peak_bytes, uint32_t rarity,
                        uint64_t now_ns)
{
    int64_t known = watch->peak_known_bytes;
    if (now_ns < watch->peak_next_ns ||
        peak_bytes - known <= (known >> HS_PEAK_STEP_SHIFT) + HS_PEAK_STEP_BYTES) {
        return false;
    }
    watch->peak_known_bytes = peak_bytes;
    watch->peak_next_ns = now_ns + rarity * HS_PEAK_PAUSE_NS;
    return true;
}

bool hs_dump_is_called_for(const struct hs_dump_schedule *schedule, struct hs_dump_watch *watch,
                           const struct hs_region_control_v1 *control, uint32_t rarity,
                           uint64_t now_ns)
{
    int64_t live = hs_load_relaxed(&control->live_bytes);
    int64_t peak = hs_load_relaxed(&control->peak_bytes);
    bool is_wanted = schedule->above_bytes > 0 && is_above(watch, schedule->above_bytes, live);
    is_wanted |=
        schedule->is_at_peak && is_new_peak(watch, live > peak ? live : peak, rarity, now_ns);
    return is_wanted && rarity != 0;
}
