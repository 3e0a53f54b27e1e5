/*
 * Scales `before` to the total of `after`, so that the shapes of two profiles are compared and not
 * their sizes.
 *
 * With shares p = before / A and q = after / B of the totals A and B, the difference shown is B (q
 * - p). A total consists of the same samples as its parts, so the variance of a share is less than
 * that of the part: to first order, and with Cov(part, total) = Var(part),
 *
 *     Var(q) B^2 = Var(part) (1 - 2 q) + q^2 Var(total)
 *
 * A part that is the whole of its side then has no variance, as it must: 100 % is 100 %.
 * diff_change.c handles blocks that no sample hit.
 *
 * Threads   one user.
 */
#include <errno.h>

#include "profile/analyse/diff.h"

/*
 * For bytes, or for the count: the total of a side, its variance, and the factor to multiply with.
 */
struct scale {
    double total, var, factor;
};

static void scale(const struct scale *by, double *value, double *var, double *sampled)
{
    double share = by->total > 0 ? *value / by->total : 0;
    double left = *var * (1 - 2 * share) + share * share * by->var;
    bool was_exact = !(*var > 0);
    *var = left > 0 ? left * by->factor * by->factor : 0;
    *value *= by->factor;
    /* Even for a block that is known exactly, its share is an estimate. */
    *sampled = was_exact && *var > 0 ? *value : *sampled * by->factor;
}

static void scale_amounts(const struct scale bytes[HS_DIFF_SIDE_N],
                          const struct scale count[HS_DIFF_SIDE_N], struct hs_diff_amounts *amounts)
{
    for (int side = 0; side < HS_DIFF_SIDE_N; side++) {
        struct hs_amount *a = &amounts->by[side];
        scale(&bytes[side], &a->bytes, &a->bytes_var, &a->sampled_bytes);
        scale(&count[side], &a->count, &a->count_var, &a->sampled_count);
    }
}

int hs_diff_normalize(struct hs_diff *diff)
{
    struct scale bytes[HS_DIFF_SIDE_N], count[HS_DIFF_SIDE_N];
    for (int side = 0; side < HS_DIFF_SIDE_N; side++) {
        const struct hs_amount *total = &diff->total.by[side];
        bytes[side] = (struct scale){ total->bytes, total->bytes_var, 1 };
        count[side] = (struct scale){ total->count, total->count_var, 1 };
        if (!(total->bytes > 0) || !(total->count > 0)) {
            return -EDOM;
        }
    }
    bytes[HS_DIFF_BEFORE].factor = bytes[HS_DIFF_AFTER].total / bytes[HS_DIFF_BEFORE].total;
    count[HS_DIFF_BEFORE].factor = count[HS_DIFF_AFTER].total / count[HS_DIFF_BEFORE].total;
    for (uint32_t i = 0; i < diff->function_count; i++) {
        scale_amounts(bytes, count, &diff->functions[i].self);
        scale_amounts(bytes, count, &diff->functions[i].total);
    }
    for (uint32_t i = 0; i < diff->node_count; i++) {
        scale_amounts(bytes, count, &diff->nodes[i].self);
        scale_amounts(bytes, count, &diff->nodes[i].total);
    }
    for (uint32_t i = 0; i < diff->process_count; i++) {
        scale_amounts(bytes, count, &diff->processes[i].total);
    }
    scale_amounts(bytes, count, &diff->stacks);
    scale_amounts(bytes, count, &diff->total);
    diff->scale =
        hs_views[diff->view].is_count ? count[HS_DIFF_BEFORE].factor : bytes[HS_DIFF_BEFORE].factor;
    diff->is_cumulative = false;
    diff->is_normalized = true;
    return 0;
}
