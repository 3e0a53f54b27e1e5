/*
 * Decides whether a profile stays within its limits.
 *
 * A figure is an estimate with a 95 % interval from low to high. It is compared with the limit:
 *
 *   limit below low           fail        the figure is surely larger
 *   limit from low to high    uncertain   kept, unless limits are strict
 *   limit above high          pass
 *   no data to decide with    unknown     never kept: the limit may be about what was not seen
 *
 * In a sampled profile the upper end of every figure includes blocks that no sample hit, even when
 * the figure is 0 or consists of exact blocks only.
 *
 * A leak is a block that was still live when its process ended, whether reachable or not; the
 * process must have been recorded from its start. The leak of a stack is the sum of all such blocks
 * with the same functions and lines. Suppressed stacks count in neither.
 *
 * Ensures   there is one row for each limit, in the order of the limits' names in the manual.
 * Threads   one user.
 * Fails     -ENOMEM, -EOVERFLOW as in aggregate.h.
 * See       limits.h, suppressions.h, profile/model/margin.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check/limits.h"
#include "check/suppressions.h"
#include "profile/analyse/aggregate.h"
#include "profile/analyse/select.h"
#include "profile/model/margin.h"

enum hs_verdict {
    HS_VERDICT_PASS,
    HS_VERDICT_UNCERTAIN,
    HS_VERDICT_FAIL,
    HS_VERDICT_UNKNOWN,
    HS_VERDICT_N,
};

extern const char *const hs_verdict_names[HS_VERDICT_N];

/* The most stacks that are listed for a broken limit on leaks. */
#define HS_CHECK_STACKS_MAX 10U

struct hs_check_stack {
    uint32_t node; /* in the check's `lines` */
    struct hs_amount live;
};

struct hs_check_row {
    const char
        *name; /* "max-leak", "stack"; "data" and "file" for what cannot be decided; a constant */
    char *subject; /* for a limit on stacks, its expression; else NULL */
    char *text;    /* "leak: 10.3 KiB, limit 0 B": one line, not sanitized */
    enum hs_verdict verdict;
    bool is_kept;
    bool is_count;
    double value, low, high, limit; /* bytes, or a count; not set when the verdict is unknown */
    double limit_share;             /* for growth that is limited to a share, the share; else 0 */
    struct hs_check_stack *stacks;  /* the largest first */
    uint32_t stack_count;
    uint32_t more_count; /* stacks that are not listed */
    double seconds;      /* time that the row took; of the first row, reading included */
};

/* One file. */
struct hs_check {
    const char *path;
    const struct hs_limits *limits;
    struct hs_suppressions *suppressions;      /* they count what they suppress */
    struct hs_select_spec select, base_select; /* which dumps; by default the last ones */
    struct hs_selection selection;
    struct hs_agg lines; /* folded by line; empty when no limit needs it */
    struct hs_check_row *rows;
    size_t row_count, row_capacity;
    bool is_kept;     /* every row is kept */
    bool is_readable; /* false: the only row says why */
    uint64_t mark_ns; /* time at which the last row was finished */
};

/*
 * Initializes a check. Call it before the file is read, because time is measured from here. `path`
 * and `limits` must outlive the check.
 */
void hs_check_init(struct hs_check *check, const char *path, const struct hs_limits *limits,
                   struct hs_suppressions *suppressions);
/* Frees what the check owns. */
void hs_check_deinit(struct hs_check *check);

/*
 * Fills the rows from the last state of each process of `profile`. Growth is measured from `base`,
 * which may be NULL. Both must outlive the check. 0, -ENOMEM or -EOVERFLOW.
 */
int hs_check_judge(struct hs_check *check, const struct hs_profile *profile,
                   const struct hs_profile *base);

/*
 * Called instead of hs_check_judge() when the file could not be read; `why` is the reason. 0 or
 * -ENOMEM.
 */
int hs_check_put_unreadable(struct hs_check *check, const char *why);
