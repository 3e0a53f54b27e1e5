/*
 * Budgets: decides when a process is sampled less.
 *
 * A profile gets coarser; it does not end. The owner of a process reads from time to time how much
 * memory its region has and how much CPU time recording took, and gets the next interval:
 *
 *     struct hs_budget budget;
 *     hs_budget_init(&budget, &limits, asked_bytes, current_bytes);
 *     if (hs_budget_decide(&budget, &reading, &change)) { set change.to_bytes in the process }
 *     call again at budget.next_ns
 *
 * Memory. The region never shrinks, and what is recorded stays recorded, so the interval is raised
 * before the region is full: fourfold whenever half of what was left is used up. For a limit of 64
 * MiB that is at 32, 48, 56, ... MiB. Each stage thus has room for twice the heap of the stage
 * before, and a heap a thousand times that of the first stage needs ten stages.
 *
 * Overhead. The cost of recording is measured over windows of the process's own CPU time. Above the
 * limit the interval is multiplied by the excess, rounded up to a power of two. The cost of a
 * sample is timed inside the process, on one sample of 16 (HS_CONTROL_TIMED); the code before and
 * after the timed part, and a free, count with the cost that the benchmarks measured. The cost of
 * an allocation that is not sampled is in no budget, because no interval can lower it.
 *
 * Lowering the interval again happens for overhead only: a program that was busy when it started
 * should not be recorded coarsely for weeks. The interval is halved when the cost was below a
 * quarter of the limit in many windows, of a second at least each. Each time twice as many such
 * windows are required, so that a program of changing pace does not make the interval swing. For
 * memory the interval is never lowered, because a region that is full stays full.
 *
 * Holds     intervals are asked_bytes times a power of two, never below asked_bytes, and at most
 *           HS_INTERVAL_BYTES_MAX. There are so few that the region's table of HS_REGION_INTERVALS
 *           has room for them; when it has none, nothing changes. At most HS_BUDGET_CHANGES_MAX
 *           changes.
 * Threads   none; a value.
 * See       target_budget.h (which takes the readings), docs/SAMPLING.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/region/heap_selection.h"
#include "trace/snapshot.h"

#define HS_BUDGET_CHANGES_MAX 128U

/* The size of an empty region, in bytes. */
#define HS_BUDGET_MEMORY_MIN   (UINT64_C(1) << 20)
#define HS_BUDGET_MEMORY_MAX   (UINT64_C(1) << 46)
#define HS_BUDGET_OVERHEAD_MAX UINT64_C(1000000)
#define HS_BUDGET_CPU_MAX_NS   (UINT64_C(86400000) * UINT64_C(1000000000))

/* The limits; 0 means no limit. */
struct hs_budget_limits {
    uint64_t memory_bytes; /* size of one process's region */
    uint64_t overhead_ppm; /* share of a process's CPU time, in millionths */
    uint64_t cpu_ns;       /* the collector's own CPU time: struct hs_cpu_budget */
};

/* A reading of a process; the counters count from the start of its recording. */
struct hs_budget_reading {
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint64_t region_bytes;
    uint64_t cpu_ns; /* the process's CPU time; 0: unknown */
    uint64_t sample_count, free_count;
    uint64_t weight_bytes; /* sum of the samples' weights */
    uint64_t timed_count, timed_ns;
    uint32_t interval_room; /* intervals that the region's table still has room for */
};

struct hs_budget {
    struct hs_budget_limits limits;
    uint64_t asked_bytes;
    uint64_t interval_bytes;
    /* when no more than this is left of the memory, the interval is raised */
    uint64_t left_next_bytes;
    struct hs_budget_reading last;   /* the latest reading */
    struct hs_budget_reading window; /* the reading with which the current window began */
    uint64_t next_ns;                /* when the next reading is due */
    bool has_begun;
    uint64_t begin_ns;    /* time of the first reading */
    uint32_t calm_count;  /* calm windows in a row */
    uint32_t calm_wanted; /* how many it takes to lower the interval */
    uint32_t change_count;
};

/* Begins a budget. `asked_bytes` is the interval that the user asked for, `interval_bytes` the one
 * in force; the larger one is used. */
void hs_budget_init(struct hs_budget *budget, const struct hs_budget_limits *limits,
                    uint64_t asked_bytes, uint64_t interval_bytes);

/* Takes a reading into account. True: budget->interval_bytes has changed, and *ret_change says to
 * what and why. */
bool hs_budget_decide(struct hs_budget *budget, const struct hs_budget_reading *reading,
                      struct hs_snap_change *ret_change);

/* An estimate of the CPU time that recording took in a process: `timed_count` of the samples took
 * `timed_ns`; of too few of them: no estimate, 0. */
uint64_t hs_budget_cost_ns(uint64_t timed_count, uint64_t timed_ns, uint64_t sample_count,
                           uint64_t free_count);

/* Raises the interval `factor` times because of another budget, the collector's. True: it has
 * changed. */
bool hs_budget_raise(struct hs_budget *budget, unsigned factor, uint32_t interval_room);

/* The budget of the collector's own CPU time. Each time half of what was left is used up, scheduled
 * dumps become four times rarer. When next to nothing is left, only the final dump of each process
 * is taken. */
struct hs_cpu_budget {
    uint64_t limit_ns; /* 0: none */
    uint64_t left_next_ns;
    uint32_t rarity; /* factor between scheduled dumps: 1, 4, 16, ...; 0: no more dumps */
};

/* Begins a budget of `limit_ns`; 0: no limit. */
void hs_cpu_budget_init(struct hs_cpu_budget *budget, uint64_t limit_ns);

/* Takes the CPU time used so far into account. True: the rarity has changed. */
bool hs_cpu_budget_decide(struct hs_cpu_budget *budget, uint64_t used_ns);

/* The time between two dumps where the user asked for one every `every_ns`. 0: there are no more
 * dumps. */
uint64_t hs_cpu_budget_stretch_ns(const struct hs_cpu_budget *budget, uint64_t every_ns);
