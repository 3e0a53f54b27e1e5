/*
 * When to dump a process before its end: on a schedule, at a new peak, above a limit.
 *
 * The daemon's sessions, `attach` and `run` share this schedule. A dump at a peak need not come at
 * the very moment of the peak: the region itself keeps what was live at the peak, to the byte, and
 * each dump contains the highest peak so far. So it is enough to look from time to time, and a heap
 * that grows all the time does not cause a dump for each allocation.
 *
 * Threads   none; one owner for each target.
 * Fails     never.
 * See       docs/adr/0002-peak-as-a-cut.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fmt/region_layout.h"

#define HS_DUMP_EVERY_MIN_NS UINT64_C(10000000)
/* A hundred thousand hours: a sum of this and a clock value does not overflow. */
#define HS_DUMP_EVERY_MAX_NS (UINT64_C(100000) * 3600 * UINT64_C(1000000000))
/* How often a collector with a peak or limit schedule looks at its processes. */
#define HS_DUMP_LOOK_NS UINT64_C(200000000)

struct hs_dump_schedule {
    uint64_t every_ns; /* 0: only the final dump */
    uint64_t phase_ns; /* time before the first scheduled dump; 0: every_ns */
    bool is_at_peak;
    /* Perfetto's packets contain the peak, as with is_at_peak, but no dump is taken because of
     * it */
    bool is_max_in_samples;
    uint64_t above_bytes; /* live bytes that cause a dump; 0: no limit */
};

/* What was dumped of a target so far. Zeroed: nothing. */
struct hs_dump_watch {
    int64_t peak_known_bytes; /* the highest live total that was dumped */
    uint64_t peak_next_ns;    /* when a higher one may be dumped */
    bool is_above;            /* the live total is above the limit */
};

/* NULL, or a message that says what is wrong with the schedule. */
const char *hs_dump_schedule_check(const struct hs_dump_schedule *schedule);

/* When the first scheduled dump is due; UINT64_MAX: there is none. */
uint64_t hs_dump_first_ns(const struct hs_dump_schedule *schedule, uint64_t start_ns);

/* Is a scheduled dump due? If so, *next_ns moves to the next one; missed dumps are not made up
 * for. */
bool hs_dump_take_due(const struct hs_dump_schedule *schedule, uint64_t now_ns, uint64_t *next_ns);

/* Does the schedule depend on the live total, so that processes must be looked at often? */
static inline bool hs_dump_has_limits(const struct hs_dump_schedule *schedule)
{
    return schedule->is_at_peak || schedule->above_bytes > 0;
}

/* Do Perfetto's packets contain the peak? */
static inline bool hs_dump_tells_max(const struct hs_dump_schedule *schedule)
{
    return schedule->is_at_peak || schedule->is_max_in_samples;
}

/* Has the live memory of the target with this control page reached a new peak or the limit, so that
 * a dump is due? True once for each occasion. `rarity`: peaks cause dumps that many times more
 * rarely (budget.h); 0: no more dumps. */
bool hs_dump_is_called_for(const struct hs_dump_schedule *schedule, struct hs_dump_watch *watch,
                           const struct hs_region_control_v1 *control, uint32_t rarity,
                           uint64_t now_ns);
