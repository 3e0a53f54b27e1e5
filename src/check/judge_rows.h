/*
 * Makes the rows of a verdict. No other file makes one.
 */
#pragma once

#include "check/judge.h"

struct hs_measured {
    const char *what;   /* "leak" */
    const char *figure; /* "10.3 KiB ± 1.2 KiB" */
    const char *per;    /* what follows the limit: "/h"; NULL: nothing */
    double value, low, high, limit;
    double unseen; /* the part of `high` for blocks that may have gone unseen; 0 none */
    bool is_count;
    /* why a limit between `low` and `high` is uncertain, a clause; NULL: noise */
    const char *doubt;
};

/* Adds a row for a measured figure. NULL when memory is short. */
struct hs_check_row *hs_check_put(struct hs_check *check, const char *name,
                                  const struct hs_measured *measured);
/* The same for a figure, whose margin is computed here. */
struct hs_check_row *hs_check_put_figure(struct hs_check *check, const char *name, const char *what,
                                         const struct hs_figure *figure, double limit,
                                         bool is_count);
/* Adds a row that cannot be decided; `text` is the reason. NULL when memory is short. */
struct hs_check_row *hs_check_put_unknown(struct hs_check *check, const char *name,
                                          const char *text);
/* The same for a figure `what` that the file does not contain; `why` is a clause. */
struct hs_check_row *hs_check_put_without(struct hs_check *check, const char *name,
                                          const char *what, const char *why);

/*
 * A figure of 0 in this profile. In a sampled profile it has a margin, because blocks may have gone
 * unseen.
 */
struct hs_figure hs_check_nothing(const struct hs_check *check, bool is_count);
