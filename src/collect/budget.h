/*
 * Budgets: when is a process sampled less?
 *
 * A profile degrades, it does not end. Whoever looks after a process reads now and then how much memory its region
 * has and how much CPU time recording took, and is told the next interval:
 *
 *     struct hs_budget budget;
 *     hs_budget_init(&budget, &limits, asked_bytes, current_bytes);
 *     if (hs_budget_decide(&budget, &reading, &change)) { tell the process change.to_bytes }
 *     come back at budget.next_ns
 *
 * Memory. The region never shrinks, and what is recorded stays recorded, so the interval is raised before it is
 * full: fourfold whenever half of what was left is used up. Under 64 MiB: at 32, 48, 56, ... Each stage so has room
 * for twice the heap of the one before, and a heap a thousand times that of the first stage needs ten.
 *
 * Overhead. What recording cost is judged over windows of the process's own CPU time; above the limit the interval
 * becomes as many times larger, in powers of two. The cost of a sample is timed inside the process, on one sample of
 * 16 (HS_CONTROL_TIMED); what lies before and behind the timed part, and a free, cost what the benches say. What an
 * allocation costs that is not sampled is in no budget: no interval can lower it.
 *
 * Down again it comes for overhead only: a program that was busy when it started should not be looked at coarsely
 * for weeks. By half, when the cost was below a quarter of the limit in many windows, of a second at least; each time
 * twice as many are wanted, so that a program of changing pace does not make it swing. For memory it does not: what
 * is full stays full.
 *
 * Holds     intervals are asked_bytes times a power of two, never below asked_bytes, at most HS_BUDGET_INTERVAL_MAX;
 *           so few that the region's table of HS_REGION_INTERVALS has room for them, and when it has none, nothing
 *           changes. At most HS_BUDGET_CHANGES_MAX changes.
 * Threads   none; a value.
 * See       target_budget.h (who measures), docs/SAMPLING.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/snapshot.h"

#define HS_BUDGET_INTERVAL_MAX (UINT64_C(1) << 40)
#define HS_BUDGET_CHANGES_MAX  128U

/* A region has so much before anything is in it. */
#define HS_BUDGET_MEMORY_MIN   (UINT64_C(1) << 20)
#define HS_BUDGET_MEMORY_MAX   (UINT64_C(1) << 46)
#define HS_BUDGET_OVERHEAD_MAX UINT64_C(1000000)
#define HS_BUDGET_CPU_MAX_NS   (UINT64_C(86400000) * UINT64_C(1000000000))

/* 0 each: none. */
struct hs_budget_limits {
    uint64_t memory_bytes; /* of the region of one process */
    uint64_t overhead_ppm; /* of a process's CPU time, in millionths */
    uint64_t cpu_ns;       /* of the collector: struct hs_cpu_budget */
};

/* Of a process, since it began to be recorded. */
struct hs_budget_reading {
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint64_t region_bytes;
    uint64_t cpu_ns; /* 0: unknown */
    uint64_t sample_count, free_count;
    uint64_t weight_bytes; /* of the samples */
    uint64_t timed_count, timed_ns;
    uint32_t interval_room; /* intervals that the region's table still has room for */
};

struct hs_budget {
    struct hs_budget_limits limits;
    uint64_t asked_bytes;
    uint64_t interval_bytes;
    uint64_t left_next_bytes;        /* when so little of the memory is left, it is raised */
    struct hs_budget_reading last;   /* the latest one, */
    struct hs_budget_reading window; /* and that with which the window began */
    uint64_t next_ns;                /* when the next one is due */
    bool has_begun;
    uint64_t begin_ns;    /* of the first one */
    uint32_t calm_count;  /* calm windows in a row, */
    uint32_t calm_wanted; /* and how many it takes */
    uint32_t change_count;
};

void hs_budget_init(struct hs_budget *budget, const struct hs_budget_limits *limits,
                    uint64_t asked_bytes, uint64_t interval_bytes);

/* True: the interval is another one now, and *ret_change says which and why. */
bool hs_budget_decide(struct hs_budget *budget, const struct hs_budget_reading *reading,
                      struct hs_snap_change *ret_change);

/* The same because of somebody else's budget: `factor` times larger. */
bool hs_budget_raise(struct hs_budget *budget, unsigned factor, uint32_t interval_room);

/* The collector's own CPU time. Each time half of what was left is used up, scheduled dumps become four times rarer;
 * when next to nothing is left there are no more, but the last one of each process. */
struct hs_cpu_budget {
    uint64_t limit_ns; /* 0: none */
    uint64_t left_next_ns;
    uint32_t rarity; /* of scheduled dumps: 1, 4, 16, ...; 0: no more */
};

void hs_cpu_budget_init(struct hs_cpu_budget *budget, uint64_t limit_ns);

/* True: the rarity has changed. */
bool hs_cpu_budget_decide(struct hs_cpu_budget *budget, uint64_t used_ns);

/* The time between two dumps, of those that were asked for at `every_ns`. 0: there are none. */
uint64_t hs_cpu_budget_stretch_ns(const struct hs_cpu_budget *budget, uint64_t every_ns);
