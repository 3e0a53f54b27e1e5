/*
 * Keeps the stacks of a profile that have a certain function, for --focus.
 *
 *     main < load < parse       focus "load": kept
 *     main < save               removed
 *
 * A stack is kept if for each pattern one of its frames matches: by the name of a function, also of
 * an inlined one, or as MODULE+0xOFFSET where no name is known. Samples and parts of all other
 * stacks are removed. What the dumps say of themselves, such as their totals, still contains them.
 *
 * Threads   one user, and no reader meanwhile.
 * Fails     -ENOMEM
 */
#pragma once

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/model/profile.h"

#define HS_FOCUS_PATTERNS_MAX 32

struct hs_focus {
    regex_t patterns[HS_FOCUS_PATTERNS_MAX];
    size_t count;
};

struct hs_buf;

/* Adds an extended regular expression. 0; -E2BIG: there are HS_FOCUS_PATTERNS_MAX; -ENOMEM; -EINVAL
 * with the reason and the place in *ret_why. */
int hs_focus_add(struct hs_focus *focus, const char *pattern, struct hs_buf *ret_why);
/* Frees the patterns. */
void hs_focus_deinit(struct hs_focus *focus);

/* Which patterns match a name: a bit for each. */
uint32_t hs_focus_match(const struct hs_focus *focus, const char *name);

/* Removes from a dump what has a stack that is not kept. `is_kept` is by node. */
void hs_focus_keep(struct hs_profile *p, struct hs_profile_dump *dump, const bool *is_kept);

/* Removes all other stacks. Without patterns, none. */
int hs_focus_apply(struct hs_profile *profile, const struct hs_focus *focus);
