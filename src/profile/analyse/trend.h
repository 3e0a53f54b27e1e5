/*
 * Finds what grows steadily: fits a straight line through all snapshots of a process, for each
 * function and each stack.
 *
 *     time       0 s   10 s   20 s   30 s        slope           steps
 *     leak        10     20     30     40        1 /s            3 up, 0 down    grows
 *     cache        0     40     40     40        1.2 -+ 3.7 /s   1 up, 0 down    noise
 *     queue       10     30      5     20        0.5 -+ 4.9 /s   2 up, 1 down    noise
 *
 * The slope is that of least squares over the times t_k of the snapshots: the sum of c_k y_k, with
 * c_k = (t_k - mean t) / sum (t_k - mean t)^2. Its 95 % margin is the largest of three:
 *
 *   scatter    the distance of the snapshots from the line, with Student's t for n - 2 degrees of
 *              freedom
 *   turnover   the sampling error if each snapshot has blocks of its own: sum of c_k^2 Var(y_k)
 *   leaks      the sampling error if blocks stay once they exist: what came at snapshot k has the
 *              variance Var(y_k) - Var(y_k-1) and stays until the end, so that it counts with
 *              (c_k + c_k+1 + ...)^2
 *
 * Blocks that no sample hit are in no variance. Each of them would have counted with at most the
 * largest of these factors times what one sample stands for. margin.h computes the margin of both.
 * A line that is the same in each snapshot of a sampled profile therefore has a margin, too.
 *
 * A function that grew once, in the middle, has a slope too; the numbers of steps distinguish it
 * from a leak. An estimate only falls when a sampled block is freed: a figure that never fell was,
 * as far as samples show, never freed.
 *
 * Holds     the parent of a stack < its own index. Snapshots without stacks in the file are left
 *           out.
 * Threads   immutable once built.
 * Fails     -ENODATA with fewer than three snapshots at different times; -ENOMEM, -EOVERFLOW.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/analyse/aggregate.h"
#include "profile/analyse/trend_line.h"
#include "util/buf.h"

struct hs_trend_row {
    size_t name_off;   /* offset in `text`; only of a function */
    uint32_t parent;   /* of a stack; HS_NODE_NONE: outermost */
    uint32_t function; /* of a stack */
    struct hs_trend_line line;
    /* How sure it is at the last snapshot that it leaks: leak_score.h. Of a function: that one of
     * its stacks does. 0: it does not, or the file does not tell. */
    double leak_confidence;
};

struct hs_trend {
    enum hs_view view;
    uint32_t process;
    uint32_t dump_count, dump_left_out_count;
    double seconds; /* from the first snapshot to the last */
    struct hs_buf text;
    struct hs_trend_row *functions;
    uint32_t function_count;
    struct hs_trend_row *stacks;
    uint32_t stack_count;
    struct hs_trend_line total;
};

/* Computes the trends of one process (index in processes) in a view. */
int hs_trend_build(const struct hs_profile *profile, uint32_t process, enum hs_view view,
                   struct hs_trend *ret_trend);
/* Frees what the trend owns. */
void hs_trend_deinit(struct hs_trend *trend);

/* The number of snapshots of a process that have stacks. */
uint32_t hs_trend_dump_count(const struct hs_profile *profile, uint32_t process);

/*
 * Indices of rows with a figure other than 0 in any snapshot, the steepest slope first. The caller
 * frees them. 0 or -ENOMEM.
 */
int hs_trend_sort(const struct hs_trend_row *rows, uint32_t count, uint32_t **ret_order,
                  uint32_t *ret_count);

/* The name of a function. */
static inline const char *hs_trend_name(const struct hs_trend *trend, uint32_t function)
{
    return trend->text.data + trend->functions[function].name_off;
}
