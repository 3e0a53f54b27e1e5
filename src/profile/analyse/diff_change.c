/*
 * Computes differences, their intervals and verdicts. See diff.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "profile/analyse/diff.h"
#include "profile/analyse/rank.h"

/* Sums of the same numbers in another order may differ by this share of the sum. */
#define ROUNDING_SHARE 1e-9

const char *const hs_diff_verdict_names[HS_DIFF_VERDICT_N] = {
    [HS_DIFF_GREW] = "grew", [HS_DIFF_SHRANK] = "shrank", [HS_DIFF_NEW] = "new",
    [HS_DIFF_GONE] = "gone", [HS_DIFF_NOISE] = "noise",   [HS_DIFF_SAME] = "same",
};

/* The figure of one side, with the interval at which anything on that side may have gone unseen. */
static struct hs_figure side_of(const struct hs_diff *diff, const struct hs_diff_amounts *amounts,
                                int side)
{
    struct hs_amount amount = amounts->by[side];
    hs_amount_widen(&amount, (float)diff->interval_bytes[side]);
    amount.has_sample_counts = diff->total.by[side].has_sample_counts;
    struct hs_figure figure = hs_view_figure(diff->view, &amount);
    if (diff->is_normalized) {
        double total = hs_view_value(diff->view, &diff->total.by[side]);
        double share = total > 0 && amounts != &diff->total ? fmin(figure.value / total, 1) : 1;
        double weight = side == HS_DIFF_BEFORE ? figure.weight * diff->scale : figure.weight;
        /*
         * What went unseen is missing in the total, too. If it belongs elsewhere, it makes this
         * share smaller. The total itself is always the whole.
         */
        figure.weight = weight * (1 - share);
        figure.extra_below =
            amounts != &diff->total ? HS_MARGIN_UNSEEN_SAMPLES * weight * share : 0;
    }
    return figure;
}

static struct hs_diff_change with_verdict(struct hs_diff_change change)
{
    double rounding = ROUNDING_SHARE * (change.before + change.after);
    if (fabs(change.delta) <= rounding) {
        change.low -= change.delta;
        change.high -= change.delta;
        change.delta = 0;
        change.verdict = HS_DIFF_SAME;
    } else if (change.low <= rounding && change.high >= -rounding) {
        change.verdict = HS_DIFF_NOISE;
    } else if (change.delta > 0) {
        change.verdict = change.before > 0 ? HS_DIFF_GREW : HS_DIFF_NEW;
    } else {
        change.verdict = change.after > 0 ? HS_DIFF_SHRANK : HS_DIFF_GONE;
    }
    return change;
}

struct hs_diff_change hs_diff_change_of(const struct hs_diff *diff,
                                        const struct hs_diff_amounts *amounts)
{
    struct hs_figure before = side_of(diff, amounts, HS_DIFF_BEFORE);
    struct hs_figure after = side_of(diff, amounts, HS_DIFF_AFTER);
    struct hs_diff_change change = { .before = before.value,
                                     .after = after.value,
                                     .delta = after.value - before.value };
    if (diff->is_cumulative) {
        /* The difference is an estimate of its own, from the samples between the two snapshots. */
        struct hs_figure between = { .value = change.delta,
                                     .sampled = change.delta,
                                     .var = fmax(after.var - before.var, 0),
                                     .weight = after.weight };
        struct hs_margin margin = hs_margin_of(&between);
        change.low = change.delta - margin.below;
        change.high = change.delta + margin.above;
        return with_verdict(change);
    }
    struct hs_margin early = hs_margin_of(&before);
    struct hs_margin late = hs_margin_of(&after);
    change.low = change.delta - hypot(late.below, early.above);
    change.high = change.delta + hypot(late.above, early.below);
    return with_verdict(change);
}

static int sort(const struct hs_diff *diff, bool is_functions, uint32_t **ret_order,
                uint32_t *ret_count)
{
    uint32_t count = is_functions ? diff->function_count : diff->node_count;
    struct hs_rank *ranks = calloc(count + 1u, sizeof(*ranks));
    uint32_t *order = calloc(count + 1u, sizeof(*order));
    uint32_t used = 0;
    if (!ranks || !order) {
        free(ranks);
        free(order);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct hs_diff_change change =
            hs_diff_change_of(diff, is_functions ? &diff->functions[i].self : &diff->nodes[i].self);
        if (change.before > 0 || change.after > 0) {
            ranks[used++] = (struct hs_rank){ .weight = fabs(change.delta),
                                              .size = change.before + change.after,
                                              .id = i };
        }
    }
    hs_rank_sort(ranks, used, order);
    free(ranks);
    *ret_order = order;
    *ret_count = used;
    return 0;
}

int hs_diff_sorted_functions(const struct hs_diff *diff, uint32_t **ret_order, uint32_t *ret_count)
{
    return sort(diff, true, ret_order, ret_count);
}

int hs_diff_sorted_stacks(const struct hs_diff *diff, uint32_t **ret_order, uint32_t *ret_count)
{
    return sort(diff, false, ret_order, ret_count);
}
