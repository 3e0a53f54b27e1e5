/*
 * Compares what is live at the end, and not suppressed, with the limits on leaks: in total and by
 * stack.
 */
#pragma once

#include "check/judge.h"

/* Adds the rows of max-leak and max-leak-stack. 0 or -ENOMEM. */
int hs_check_leaks(struct hs_check *check);
