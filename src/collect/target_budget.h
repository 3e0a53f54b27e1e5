/*
 * The budgets of a target: reads what its region and its recording cost, and changes its interval.
 *
 *     hs_target_budget_set(&budget, &region, &limits, interval_bytes);    when its session begins
 *     next_ns = hs_target_budget_keep(&budget, &region, pid, now_ns);    whenever there is time
 *
 * The limit of the region is written into the control page as well, so that it holds even when the
 * collector comes too late: the client does not grow its tables of samples beyond the limit, and
 * counts what it could not record (HS_LOSS_LIMIT).
 *
 * Threads   one.
 * Fails     what cannot be read (a counter, the process's CPU time) has no influence.
 * See       budget.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/budget.h"
#include "collect/region/region_reader.h"
#include "trace/snapshot.h"

/* Zeroed: no session has set limits. */
struct hs_target_budget {
    bool is_set;
    struct hs_budget decisions;
    const struct hs_heap_selection *heaps; /* of its session, which outlives the recording */
    uint32_t dump_rarity;           /* rarity of its session's dumps, as of the latest change */
    struct hs_snap_change *changes; /* of the interval; owned */
    size_t change_count, change_capacity;
};

/* Sets the limits. If all are 0, nothing is watched. A second call for the same budget is
 * ignored. `heaps`: the session's selection; the intervals in it change with the process's. */
void hs_target_budget_set(struct hs_target_budget *budget, struct hs_region *region,
                          const struct hs_budget_limits *limits, uint64_t asked_bytes,
                          const struct hs_heap_selection *heaps);
/* Frees the changes. */
void hs_target_budget_deinit(struct hs_target_budget *budget);

/* Gives the snapshot a copy of the changes. 0 or -ENOMEM. */
int hs_target_budget_describe(const struct hs_target_budget *budget, struct hs_snapshot *snap);

/* The interval with which a forked child continues when its session asked for `asked_bytes`: its
 * parent's, if that was raised. */
uint64_t hs_target_budget_inherited(const struct hs_region *region, uint64_t asked_bytes);

/* Takes a reading if one is due, and changes the interval if necessary. The region must belong to a
 * process that lives and records. Returns when to call again; UINT64_MAX: there is nothing to
 * watch. */
uint64_t hs_target_budget_keep(struct hs_target_budget *budget, struct hs_region *region, pid_t pid,
                               uint64_t now_ns);

/* Until when nothing that takes some time is to be done, because the region grows towards its limit
 * and the next reading must follow soon. 0: it need not. */
uint64_t hs_target_budget_pressing_ns(const struct hs_target_budget *budget, uint64_t now_ns);

/* Applies a change of the collector's own budget: scheduled dumps have a new rarity, and the
 * interval is doubled, because a dump with more records takes longer. As above, the process lives
 * and records. */
void hs_target_budget_spare(struct hs_target_budget *budget, struct hs_region *region,
                            const struct hs_cpu_budget *cpu, uint64_t now_ns);
