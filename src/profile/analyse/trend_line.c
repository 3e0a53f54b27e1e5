/*
 * See trend_line.h.
 */
#include "profile/analyse/trend_line.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "rt/base.h"

#define Z_95 1.96
/* Sums of the same numbers in another order may differ by this share of the sum. */
#define ROUNDING_SHARE 1e-9

const char *const hs_trend_verdict_names[HS_TREND_VERDICT_N] = {
    [HS_TREND_GROWS] = "grows",
    [HS_TREND_SHRINKS] = "shrinks",
    [HS_TREND_NOISE] = "noise",
    [HS_TREND_SAME] = "same",
};

int hs_trend_axis_init(const double *seconds, uint32_t count, struct hs_trend_axis *ret_axis)
{
    struct hs_trend_axis axis = { .count = count };
    double mean = 0;
    for (uint32_t i = 0; i < count; i++) {
        mean += seconds[i] / count;
    }
    for (uint32_t i = 0; i < count; i++) {
        axis.spread += (seconds[i] - mean) * (seconds[i] - mean);
    }
    if (count < HS_TREND_DUMPS_MIN || !(axis.spread > 0)) {
        return -ENODATA;
    }
    axis.weights = calloc(count, sizeof(*axis.weights));
    if (!axis.weights) {
        return -ENOMEM;
    }
    double rest = 0;
    for (uint32_t i = count; i > 0; i--) {
        double slope = (seconds[i - 1] - mean) / axis.spread;
        rest += slope;
        axis.weights[i - 1] = (struct hs_trend_weight){ slope, rest };
        axis.slope_max = fmax(axis.slope_max, fabs(slope));
        axis.rest_max = i > 1 ? fmax(axis.rest_max, fabs(rest)) : axis.rest_max;
    }
    *ret_axis = axis;
    return 0;
}

void hs_trend_series_put(struct hs_trend_series *series, const struct hs_trend_axis *axis,
                         uint32_t k, const struct hs_figure *figure)
{
    const struct hs_trend_weight *weight = &axis->weights[k];
    if (k == 0) {
        series->first = series->last = figure->value;
    }
    double above = figure->value - series->first;
    double rounding = ROUNDING_SHARE * (figure->value + series->last);
    series->sum += above;
    series->sum_squares += above * above;
    series->slope += weight->slope * above;
    series->turnover_var += weight->slope * weight->slope * figure->var;
    if (k > 0) {
        series->leak_var += weight->rest * weight->rest * fabs(figure->var - series->last_var);
    }
    series->weight = fmax(series->weight, figure->weight);
    series->steps_up += figure->value > series->last + rounding;
    series->steps_down += figure->value < series->last - rounding;
    series->last = figure->value;
    series->last_var = figure->var;
}

/* Student's t, two-sided 95 %. */
static double t_95(uint32_t freedom)
{
    static const double table[] = { 0,     12.706, 4.303, 3.182, 2.776, 2.571,
                                    2.447, 2.365,  2.306, 2.262, 2.228 };
    if (freedom < HS_COUNT_OF(table)) {
        return table[freedom];
    }
    /* The first terms of its expansion are correct to three digits from here on. */
    return Z_95 + 2.372 / freedom + 2.82 / ((double)freedom * freedom);
}

struct hs_trend_line hs_trend_series_line(const struct hs_trend_series *series,
                                          const struct hs_trend_axis *axis)
{
    struct hs_trend_line line = { .first = series->first,
                                  .last = series->last,
                                  .steps_up = series->steps_up,
                                  .steps_down = series->steps_down,
                                  .verdict = HS_TREND_SAME };
    double off = series->sum_squares - series->sum * series->sum / axis->count -
                 series->slope * series->slope * axis->spread;
    double scatter_var = fmax(off, 0) / (axis->count - 2) / axis->spread;
    double turnover = hs_margin_of_sum(series->turnover_var, axis->slope_max * series->weight);
    double leak = hs_margin_of_sum(series->leak_var, axis->rest_max * series->weight);
    line.slope = series->slope;
    line.margin = fmax(t_95(axis->count - 2) * sqrt(scatter_var), fmax(turnover, leak));
    if (series->steps_up + series->steps_down == 0) {
        line.slope = 0;
        return line;
    }
    double rounding = ROUNDING_SHARE * fabs(line.slope);
    line.verdict = line.slope - line.margin > rounding    ? HS_TREND_GROWS
                   : line.slope + line.margin < -rounding ? HS_TREND_SHRINKS
                                                          : HS_TREND_NOISE;
    return line;
}
