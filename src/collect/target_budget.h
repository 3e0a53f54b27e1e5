/*
 * The budgets of a target: reads what its region and its recording cost, and changes its interval.
 *
 *     hs_target_set_budget(target, &limits, interval_bytes);      when its session begins
 *     next_ns = hs_target_keep_budget(target, now_ns);            whenever there is time
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

#include <stdint.h>

#include "collect/budget.h"
#include "collect/target.h"

/* Sets the limits. If all are 0, nothing is watched. A second call for the same target is
 * ignored. */
void hs_target_set_budget(struct hs_target *target, const struct hs_budget_limits *limits,
                          uint64_t asked_bytes);

/* The interval with which a forked child continues when its session asked for `asked_bytes`: its
 * parent's, if that was raised. */
uint64_t hs_target_inherited_interval(const struct hs_target *target, uint64_t asked_bytes);

/* Takes a reading if one is due, and changes the interval if necessary. Returns when to call again;
 * UINT64_MAX: there is nothing to watch. */
uint64_t hs_target_keep_budget(struct hs_target *target, uint64_t now_ns);

/* Applies a change of the collector's own budget: scheduled dumps have a new rarity, and the
 * interval is doubled, because a dump with more records takes longer. */
void hs_target_spare_collector(struct hs_target *target, const struct hs_cpu_budget *cpu,
                               uint64_t now_ns);
