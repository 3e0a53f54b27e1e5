/*
 * Adds the long tail of a profile up: stacks with few bytes and few objects become "<other>".
 *
 * In each dump, the small stacks of a heap become one stack of two frames: "<other>", and inside it
 * how many they were, such as "[123 small stacks]". Every view and format shows these as it shows
 * other frames.
 *
 * Ensures   the sums over the samples of a dump and heap stay what they were, and the dump's own
 *           totals stay untouched. Parts keep the samples that they are of.
 * Threads   one user, and no reader meanwhile.
 * Fails     -ENOMEM, -EOVERFLOW; the profile stays valid, with some dumps added up.
 */
#pragma once

#include <stdbool.h>

#include "profile/analyse/aggregate.h"

#define HS_OTHER_NAME "<other>"

/* A stack is small when it has less than both. */
struct hs_other_below {
    double bytes, count;
};

/* Parses "16K,1024", both above 0. */
bool hs_other_below_parse(const char *text, struct hs_other_below *ret_limits);

/*
 * Adds small stacks up. A stack is small when it is small in what `view` shows; HS_VIEW_AUTO: in
 * all that it has, for formats with all views.
 */
int hs_other_below_apply(struct hs_profile *profile, const struct hs_other_below *limits,
                         enum hs_view view);
