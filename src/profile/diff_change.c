/*
 * What differs, and by how much more than chance. See diff.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "profile/diff.h"
#include "profile/rank.h"

#define Z_95 1.96
/* Sums of the same numbers in another order may differ by this share of themselves. */
#define ROUNDING_SHARE 1e-9

const char *const hs_diff_verdict_names[HS_DIFF_VERDICT_N] = {
    [HS_DIFF_GREW] = "grew", [HS_DIFF_SHRANK] = "shrank", [HS_DIFF_NEW] = "new",
    [HS_DIFF_GONE] = "gone", [HS_DIFF_NOISE] = "noise",   [HS_DIFF_SAME] = "same",
};

/* A side without a sample, beside one that has some: z^2 samples at most went unseen. */
static double unseen(const struct hs_diff *diff, int side, const struct hs_figure *other)
{
    if (!hs_views[diff->view].is_count) {
        return Z_95 * Z_95 * diff->interval_bytes[side];
    }
    double sampled = other->sampled > 0 ? other->sampled : other->value;
    return sampled > 0 ? Z_95 * Z_95 * other->var / sampled : 0;
}

static struct hs_diff_change judge(struct hs_diff_change change)
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
    struct hs_figure before = hs_view_figure(diff->view, &amounts->by[HS_DIFF_BEFORE]);
    struct hs_figure after = hs_view_figure(diff->view, &amounts->by[HS_DIFF_AFTER]);
    struct hs_diff_change change = { .before = before.value,
                                     .after = after.value,
                                     .delta = after.value - before.value };
    if (diff->is_cumulative) {
        /* The difference is an estimate of its own, from the samples in between. */
        struct hs_figure between = { .value = change.delta,
                                     .sampled = after.sampled - before.sampled,
                                     .var = fmax(after.var - before.var, 0) };
        struct hs_margin margin = hs_margin_of(&between);
        change.low = change.delta - margin.below;
        change.high = change.delta + margin.above;
        return judge(change);
    }
    struct hs_margin early = hs_margin_of(&before);
    struct hs_margin late = hs_margin_of(&after);
    if (after.var > 0 && !(before.var > 0)) {
        early.above = unseen(diff, HS_DIFF_BEFORE, &after);
    }
    if (before.var > 0 && !(after.var > 0)) {
        late.above = unseen(diff, HS_DIFF_AFTER, &before);
    }
    change.low = change.delta - hypot(late.below, early.above);
    change.high = change.delta + hypot(late.above, early.below);
    return judge(change);
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
