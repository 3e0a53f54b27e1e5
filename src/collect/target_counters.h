/*
 * The part of target_counters.c that is only for target.c; target.h has the rest.
 *
 * Threads   one.
 */
#pragma once

#include "collect/target.h"

/* Looks whether a target that lives and records has lost something, from time to time. */
void hs_target_look_at_losses(struct hs_target *target, uint64_t now_ns);
/* Tells the snapshot, whose counters are complete, when something was lost, and what recording took
 * in the process. */
void hs_target_add_counters(struct hs_target *target, struct hs_snapshot *snap);
