/*
 * The verdict: does a profile keep within its limits?
 *
 * A figure is an estimate with a 95 % interval, low to high. Against a limit:
 *
 *     limit below low           fail        it is surely more
 *     limit from low to high    uncertain   kept, unless limits are strict
 *     limit above high          pass
 *     nothing to judge by       unknown     never kept: what is not seen may be what the limit is for
 *
 * In a sampled profile the upper end of every figure holds what no sample hit, also beside 0 and beside exact blocks.
 *
 * A leak is a block that was still live when its process, seen from its start, ended; reachable or not. A stack's
 * leak is all such blocks with the same functions and lines. Suppressions take their stacks out of both.
 *
 * Holds     rows are in the order of the limits' names in the manual, one for each limit.
 * Threads   one user.
 * Fails     -ENOMEM, -EOVERFLOW as aggregate.h does.
 * See       limits.h, suppressions.h, profile/margin.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check/limits.h"
#include "check/suppressions.h"
#include "profile/aggregate.h"
#include "profile/margin.h"
#include "profile/select.h"

enum hs_verdict {
    HS_VERDICT_PASS,
    HS_VERDICT_UNCERTAIN,
    HS_VERDICT_FAIL,
    HS_VERDICT_UNKNOWN,
    HS_VERDICT_N,
};

extern const char *const hs_verdict_names[HS_VERDICT_N];

/* Listed for a limit on leaks that is not kept. */
#define HS_CHECK_STACKS_MAX 10U

struct hs_check_stack {
    uint32_t node; /* in the check's `lines` */
    struct hs_amount live;
};

struct hs_check_row {
    const char
        *name; /* "max-leak", "stack"; "data" and "file" for what cannot be judged; a constant */
    char *subject; /* of a stack: its expression; else NULL */
    char *text;    /* "leak: 10.3 KiB, limit 0 B": one line, not made harmless */
    enum hs_verdict verdict;
    bool is_kept;
    bool is_count;
    double value, low, high, limit; /* bytes, or a count; not of what is unknown */
    double limit_share;             /* of growth that is limited to a share; else 0 */
    struct hs_check_stack *stacks;  /* the largest first */
    uint32_t stack_count;
    uint32_t more_count; /* stacks that are not listed */
    double seconds;      /* that it took, reading included for the first */
};

/* One file. */
struct hs_check {
    const char *path;
    const struct hs_limits *limits;
    struct hs_suppressions *suppressions; /* count what they suppress */
    struct hs_select_spec select,
        base_select; /* which dumps; the last ones unless it is said otherwise */
    struct hs_selection selection;
    struct hs_agg lines; /* by line; empty when no limit asked for it */
    struct hs_check_row *rows;
    size_t row_count, row_capacity;
    bool is_kept;     /* every row is */
    bool is_readable; /* false: the only row says why not */
    uint64_t mark_ns; /* when the last row was done */
};

/* Begin before the file is read: time counts from here. */
void hs_check_init(struct hs_check *check, const char *path, const struct hs_limits *limits,
                   struct hs_suppressions *suppressions);
void hs_check_deinit(struct hs_check *check);

/* The last state of each process of `profile`; `base` is what growth is held against, or NULL. Both must
 * outlive the check. */
int hs_check_judge(struct hs_check *check, const struct hs_profile *profile,
                   const struct hs_profile *base);

/* Instead: it could not be read, and why. */
int hs_check_put_unreadable(struct hs_check *check, const char *why);
