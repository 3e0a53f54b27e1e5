/*
 * The limits on leaks: what is live at the end and not suppressed, by the whole and by stack.
 */
#pragma once

#include "check/judge.h"

/* max-leak and max-leak-stack. 0 or -ENOMEM. */
int hs_check_leaks(struct hs_check *check);
