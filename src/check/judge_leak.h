/*
 * Compares what is live at the end, and not suppressed, with the limits on leaks: in total and by
 * stack.
 */
#pragma once

#include "check/judge.h"

/* Adds the row of max-leak-growth; the process may still run. What is called a leak is in
 * profile/analyse/leak_score.h. 0, -ENOMEM or -EOVERFLOW. */
int hs_check_leak_growth(struct hs_check *check);
/* Adds the rows of max-leak and max-leak-stack. 0 or -ENOMEM. */
int hs_check_leaks(struct hs_check *check);
