/*
 * A target's budgets: what its region and its recording cost is read, and its interval changed.
 *
 *     hs_target_set_budget(target, &limits, interval_bytes);      when its session begins
 *     next_ns = hs_target_keep_budget(target, now_ns);            whenever there is time
 *
 * Its client is told the limit of the region as well, so that it holds even when we come too late: it does not grow
 * its tables of samples beyond, and counts what it could not record (HS_LOSS_LIMIT).
 *
 * Threads   one.
 * Fails     what cannot be read (a counter, the process's CPU time) is not judged by.
 * See       budget.h
 */
#pragma once

#include <stdint.h>

#include "collect/budget.h"
#include "collect/target.h"

/* Limits of 0 only: nothing is done from now on. A second time for the same target: ignored. */
void hs_target_set_budget(struct hs_target *target, const struct hs_budget_limits *limits,
                          uint64_t asked_bytes);

/* The interval that a forked child goes on with when its session was asked for `asked_bytes`: its parent's, if that was
 * raised. */
uint64_t hs_target_inherited_interval(const struct hs_target *target, uint64_t asked_bytes);

/* When to call again; UINT64_MAX: there is nothing to watch. */
uint64_t hs_target_keep_budget(struct hs_target *target, uint64_t now_ns);

/* The collector's own budget: scheduled dumps have another rarity now, and the interval becomes twice as large, as a
 * dump takes the longer the more there is in it. */
void hs_target_spare_collector(struct hs_target *target, const struct hs_cpu_budget *cpu,
                               uint64_t now_ns);
