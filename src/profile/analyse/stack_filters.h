/*
 * Filters of stacks, with the meaning that they have in a flame graph of the Perfetto UI.
 *
 *     main < load < parse < alloc
 *
 *     focus "load"     Show Stack: keeps the stack, because one of its functions matches
 *     from "load"      Show From Frame: load < parse < alloc; stacks without a match are removed
 *     hide "parse"     Hide Frame: main < load < alloc; what parse itself allocated is load's
 *
 * They are applied in this order. Each focus pattern must match a function of the whole stack. A
 * stack begins at its outermost function that a `from` pattern matches and no `hide` pattern. A
 * stack whose functions are all hidden is removed. A function without a name is matched as
 * MODULE+0xOFFSET. Inlined functions are functions.
 *
 * Ensures   removed stacks are those of samples and parts: what the dumps say of themselves, like
 *           their totals, still contains them. With `from` and `hide`, blocks, births and
 *           lifetimes are forgotten.
 * Threads   one user, and no reader meanwhile.
 * Fails     -ENOMEM, -EOVERFLOW; the profile is then only good to be freed.
 */
#pragma once

#include "profile/analyse/focus.h"

struct hs_stack_filters {
    struct hs_focus focus, from, hide;
};

/* Frees the patterns. */
void hs_stack_filters_deinit(struct hs_stack_filters *filters);
/* Gives the samples the stacks that are left. Without patterns, does nothing. */
int hs_stack_filters_apply(struct hs_profile *profile, const struct hs_stack_filters *filters);
