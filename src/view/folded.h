/*
 * Folded stacks: one line per stack, "main;load;parse 4096", which flame graph tools read.
 *
 * The outermost frame comes first. Values are those of one view, rounded to whole numbers whose sum
 * is that of the view; stacks that round to 0 are left out. The format has no escapes: ';' in a
 * name becomes ':', a line break becomes a blank.
 *
 * Threads   no state.
 * Fails     -ENOMEM or as the buffer does; HS_SELECT_E_* when the profile has no such dump.
 */
#pragma once

#include "profile/analyse/aggregate.h"

struct hs_buf;

/* Writes the stacks of the selected dumps. Returns 0, -errno or HS_SELECT_E_*. */
int hs_folded_write(const struct hs_profile *profile, const struct hs_select_spec *select,
                    enum hs_view view, struct hs_buf *buf);
