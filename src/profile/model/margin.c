/*
 * See margin.h.
 */
#include "profile/model/margin.h"

#include <float.h>
#include <math.h>

#define Z_95 1.96
/* Variances of rows are rounded to 1 in 4096. */
#define EXACT_SHARE_MIN (1.0 / 2048)

/*
 * The lower 97.5 % bound of the mean of a Poisson count k, as a share of k. This is Wilson and
 * Hilferty's approximation of the gamma bound, and never exceeds it.
 */
static double lower_share(double k)
{
    double root = 1 - 1 / (9 * k) - Z_95 / (3 * sqrt(k));
    return root > 0 ? root * root * root : 0;
}

static double below_of(double sampled, double var)
{
    double k = sampled * sampled / var;
    return k > 0 ? sampled * (1 - lower_share(k)) : sampled;
}

double hs_margin_of_sum(double var, double weight)
{
    double spread = Z_95 * sqrt(var);
    double shift = HS_MARGIN_UNSEEN_SAMPLES / 2 * weight;
    double margin = shift + hypot(spread, shift);
    if (!isfinite(margin)) {
        /* Only a forged file has such figures. */
        return isfinite(spread) ? spread : DBL_MAX;
    }
    return margin;
}

/* Adds the errors of a figure that belongs to a peak, the highest of many estimates: see
 * peak_margin.h. */
static struct hs_margin widen_of_peak(const struct hs_figure *figure, struct hs_margin margin)
{
    margin.above += figure->peak_short;
    if (!(figure->peak_excess > 0)) {
        return margin;
    }
    double common = Z_95 * figure->peak_common;
    double own_square = fmax(margin.below * margin.below - common * common, 0);
    double below =
        figure->peak_lean + sqrt(own_square + pow(figure->peak_excess - figure->peak_lean, 2));
    if (isfinite(below) && below > margin.below) {
        margin.below = fmin(below, fmax(figure->sampled, margin.below));
    }
    return margin;
}

struct hs_margin hs_margin_of(const struct hs_figure *figure)
{
    struct hs_margin margin = { 0, 0 };
    bool has_var = figure->var > 0;
    /*
     * The sampled part alone is not larger than the whole. A difference of profiles may be
     * negative.
     */
    double sampled = fabs(figure->sampled != 0 ? figure->sampled : figure->value);
    double weight = figure->weight > 0 ? figure->weight : has_var ? figure->var / sampled : 0;
    if (has_var || weight > 0) {
        margin.above = hs_margin_of_sum(has_var ? figure->var : 0, weight);
        margin.below = has_var ? below_of(sampled, figure->var) : 0;
    }
    if (figure->value < 0) {
        double swapped = margin.below;
        margin.below = margin.above;
        margin.above = swapped;
    }
    margin.below += figure->extra_below;
    margin.above += figure->extra_above;
    return widen_of_peak(figure, margin);
}

void hs_margin_split(struct hs_amount *amount, uint64_t interval_bytes)
{
    amount->sampled_bytes = amount->sampled_count = 0;
    if (!(amount->bytes_var > 0) || interval_bytes == 0) {
        return;
    }
    double interval = (double)interval_bytes;
    double sampled_bytes = fmin(amount->bytes_var / interval, amount->bytes);
    double exact_bytes = amount->bytes - sampled_bytes;
    if (exact_bytes <= EXACT_SHARE_MIN * amount->bytes) {
        amount->sampled_bytes = amount->bytes;
        amount->sampled_count = amount->count;
        return;
    }
    /* Samples of one size stand for c = 1 / p objects each, with variance c (c - 1). */
    double samples = fmax(sampled_bytes / interval, 1);
    double each = (1 + sqrt(1 + 4 * amount->count_var / samples)) / 2;
    double least = fmax(amount->count - exact_bytes / interval, 0);
    amount->sampled_bytes = sampled_bytes;
    amount->sampled_count = fmin(fmax(samples * each, least), amount->count);
}

struct hs_figure hs_figure_of(const struct hs_amount *amount, bool is_count)
{
    double interval = amount->interval_bytes > 1 ? (double)amount->interval_bytes : 0;
    struct hs_figure bytes = { .value = amount->bytes,
                               .sampled = amount->sampled_bytes,
                               .var = amount->bytes_var,
                               .weight = interval,
                               .peak_excess = (double)amount->peak_excess_bytes,
                               .peak_lean = (double)amount->peak_lean_bytes,
                               .peak_common = (double)amount->peak_common_bytes,
                               .peak_short = (double)amount->peak_short_bytes };
    if (!is_count) {
        return bytes;
    }
    if (amount->has_sample_counts) {
        /* The count is a number of samples, which is also its variance. */
        double count = fabs(amount->count);
        return (struct hs_figure){
            .value = amount->count, .sampled = count, .var = count, .weight = 1
        };
    }
    /*
     * Objects are too many by at most the same share as bytes. How much of their error comes from
     * that of the bytes is not known. They are the objects at the shown moment.
     */
    double each = amount->sampled_bytes > 0 ? amount->sampled_count / amount->sampled_bytes : 0;
    return (struct hs_figure){
        .value = amount->count,
        .sampled = amount->sampled_count,
        .var = amount->count_var,
        /* 1 / (1 - e^(-1 / I)), for objects of a byte */
        .weight = interval > 0 ? interval + 0.5 + 1 / (12 * interval) : 0,
        .peak_excess = bytes.peak_excess * each,
        .peak_lean = bytes.peak_lean * each,
    };
}

struct hs_figure hs_ledger_blocks_figure(const struct hs_ledger_blocks *blocks, uint64_t rss_bytes)
{
    return (struct hs_figure){
        .value = fmin(blocks->bytes, (double)rss_bytes),
        .sampled = fmin(blocks->sampled_bytes, (double)rss_bytes),
        .var = blocks->variance,
        .weight = blocks->weight_bytes,
    };
}

struct hs_ledger_ends hs_ledger_blocks_ends(const struct hs_ledger_blocks *blocks,
                                            uint64_t rss_bytes)
{
    struct hs_figure figure = hs_ledger_blocks_figure(blocks, UINT64_MAX);
    struct hs_margin margin = hs_margin_of(&figure);
    return (struct hs_ledger_ends){
        .low_bytes = fmin(fmax(figure.value - margin.below, 0), (double)rss_bytes),
        .high_bytes = fmin(figure.value + margin.above, (double)rss_bytes),
    };
}
