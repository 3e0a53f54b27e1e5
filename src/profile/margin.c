/*
 * See margin.h.
 */
#include "profile/margin.h"

#include <math.h>

#define Z_95 1.96
/* Variances of rows are rounded to 1 in 4096. */
#define EXACT_SHARE_MIN (1.0 / 2048)

struct hs_margin hs_margin_of(const struct hs_figure *figure)
{
    if (!(figure->var > 0)) {
        return (struct hs_margin){ 0, 0 };
    }
    /* T / k, what one sample stands for; by itself not more than the whole. */
    double sampled = figure->sampled > 0 ? figure->sampled : figure->value;
    double each = figure->var / sampled;
    double shift = Z_95 * Z_95 / 2 * each;
    double half = hypot(Z_95 * sqrt(figure->var), shift);
    if (!isfinite(half)) {
        /* Of a file that somebody made up. */
        half = Z_95 * sqrt(figure->var);
        shift = 0;
    }
    double below = half - shift;
    return (struct hs_margin){ .below = below < sampled ? below : sampled, .above = half + shift };
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
