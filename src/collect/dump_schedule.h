/*
 * When to dump a process before its end: on a schedule, at a new peak, above a limit.
 *
 * The same schedule for a session of the daemon, for `attach`, and for `run`. A peak is a dump's business only so far
 * that there shall be one soon after it: what lived at the peak, to the byte, the region keeps itself, and
 * each dump tells the highest one so far. So a look now and then suffices, and a heap that grows all the time does
 * not make a dump for each allocation.
 *
 * Threads   none; one owner for each target.
 * Fails     never.
 * See       docs/adr/0002-peak-as-a-cut.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/target.h"

#define HS_DUMP_EVERY_MIN_NS UINT64_C(10000000)
/* A hundred thousand hours; adding it to a clock cannot pass the clock's end. */
#define HS_DUMP_EVERY_MAX_NS (UINT64_C(100000) * 3600 * UINT64_C(1000000000))
/* Whoever has limits looks at his processes so often. */
#define HS_DUMP_LOOK_NS UINT64_C(200000000)

struct hs_dump_schedule {
    uint64_t every_ns; /* 0: only at the end */
    uint64_t phase_ns; /* before the first of these; 0: every_ns */
    bool is_at_peak;
    bool
        is_max_in_samples; /* Perfetto's packets tell the peak, as at_peak's do; no dump because of it */
    uint64_t above_bytes; /* live; 0: at no limit */
};

/* NULL, or what is wrong with them, in a few words. */
const char *hs_dump_schedule_check(const struct hs_dump_schedule *schedule);

/* When the first scheduled dump is due; UINT64_MAX: none is. */
uint64_t hs_dump_first_ns(const struct hs_dump_schedule *schedule, uint64_t start_ns);

/* Is a scheduled dump due? Then the next one is scheduled; missed ones are not made up for. */
bool hs_dump_take_due(const struct hs_dump_schedule *schedule, uint64_t now_ns, uint64_t *next_ns);

static inline bool hs_dump_has_limits(const struct hs_dump_schedule *schedule)
{
    return schedule->is_at_peak || schedule->above_bytes > 0;
}

static inline bool hs_dump_tells_max(const struct hs_dump_schedule *schedule)
{
    return schedule->is_at_peak || schedule->is_max_in_samples;
}

/* A dump because of what the target's live memory has come to? Says so once for each occasion. `rarity`: the peaks'
 * come so many times more rarely (budget.h); 0: no more dumps. */
bool hs_dump_is_called_for(const struct hs_dump_schedule *schedule, struct hs_target *target,
                           uint32_t rarity, uint64_t now_ns);
