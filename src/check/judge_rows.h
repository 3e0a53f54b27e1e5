/*
 * The rows of a verdict: they are made here, and nowhere else.
 */
#pragma once

#include "check/judge.h"

struct hs_measured {
    const char *what;   /* "leak" */
    const char *figure; /* "10.3 KiB ± 1.2 KiB" */
    double value, low, high, limit;
    double unseen; /* part of `high` that stands for what may have gone unseen; 0 none */
    bool is_count;
    const char *doubt; /* a clause, of a limit between `low` and `high`; NULL: noise */
};

/* Adds a row, NULL when there is no memory. */
struct hs_check_row *hs_check_put(struct hs_check *check, const char *name,
                                  const struct hs_measured *measured);
struct hs_check_row *hs_check_put_figure(struct hs_check *check, const char *name, const char *what,
                                         const struct hs_figure *figure, double limit,
                                         bool is_count);
struct hs_check_row *hs_check_put_unknown(struct hs_check *check, const char *name,
                                          const char *text);

/* A figure of 0 in this profile: where it was sampled, something may have gone unseen. */
struct hs_figure hs_check_nothing(const struct hs_check *check, bool is_count);
