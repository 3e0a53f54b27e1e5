/*
 * Folded stacks: a line for each stack, "main;load;parse 4096", which flame graph tools read.
 *
 * Outermost frame first; the value is that of one view, in whole numbers whose sum is the view's; stacks
 * without a whole one are left out. The format has no escapes: ';' in a name becomes ':', a line break a blank.
 *
 * Threads   none.
 * Fails     -ENOMEM or as the buffer does; HS_SELECT_E_* when the profile has no such dump.
 */
#pragma once

#include "profile/aggregate.h"

struct hs_buf;

int hs_folded_write(const struct hs_profile *profile, const struct hs_select_spec *select,
                    enum hs_view view, struct hs_buf *buf);
