/*
 * Compares the resident memory with its limits: how much there was, and how much of it nothing in
 * the profile explains.
 */
#pragma once

#include "check/judge.h"

/* Adds the rows of max-rss and max-unexplained, if they are set. 0 or -ENOMEM. */
int hs_check_resident(struct hs_check *check);
