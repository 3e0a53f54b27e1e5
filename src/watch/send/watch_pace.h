/*
 * The pace of a watch worker: how long it sleeps after a look, so that its share of a processor
 * stays small.
 *
 *     credit (CPU time)   at first `free`, and never more; each nanosecond that passes adds
 *                         1 / share; each look takes what it has cost
 *     next look           when the credit is not negative, but not before the interval is over
 *
 * Example, with a share of 1/50: looks of 10 ms every second. A second adds 20 ms, so the interval
 * stays a second. Looks of 100 ms: the credit is used up after the first ones, and then each look
 * must wait 5 seconds.
 *
 * Threads   none.
 */
#pragma once

#include <stdint.h>

struct hs_watch_pace {
    uint64_t interval_ns; /* that was asked for */
    uint64_t share;       /* one part in so many */
    int64_t free_ns, credit_ns;
    uint64_t paid_ns; /* CLOCK_MONOTONIC: the credit is of this time */
};

/* A pace that begins now. */
static inline void hs_watch_pace_begin(struct hs_watch_pace *pace, uint64_t now_ns)
{
    pace->credit_ns = pace->free_ns;
    pace->paid_ns = now_ns;
}

/* A look that began at `begin_ns` and has cost so much CPU time is over. Returns when the next one
 * may begin. */
static inline uint64_t hs_watch_pace_spend(struct hs_watch_pace *pace, uint64_t begin_ns,
                                           uint64_t now_ns, uint64_t cpu_ns)
{
    uint64_t earned_ns = (now_ns - pace->paid_ns) / pace->share;
    int64_t credit_ns =
        pace->credit_ns + (int64_t)(earned_ns < INT64_MAX / 4 ? earned_ns : INT64_MAX / 4);
    credit_ns = credit_ns < pace->free_ns ? credit_ns : pace->free_ns;
    credit_ns -= (int64_t)(cpu_ns < INT64_MAX / 4 ? cpu_ns : INT64_MAX / 4);
    pace->credit_ns = credit_ns;
    pace->paid_ns = now_ns;
    uint64_t next_ns = begin_ns + pace->interval_ns;
    uint64_t paid_off_ns = credit_ns < 0 ? now_ns + (uint64_t)-credit_ns * pace->share : now_ns;
    return next_ns > paid_off_ns ? next_ns : paid_off_ns;
}
