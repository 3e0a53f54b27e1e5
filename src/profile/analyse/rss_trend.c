/*
 * Finds what of the resident memory grows: see rss_trend.h.
 */
#include "profile/analyse/rss_trend.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "util/buf.h"
#include "util/rate_unit.h"

/* A part that grows by less than this share of the whole growth is not worth a word. */
#define NAMED_SHARE 0.02

/* --- lines ------------------------------------------------------------------------------------ */

struct all_series {
    struct hs_trend_series rss, pss, swap, unexplained, top, live;
    struct hs_trend_series parts[HS_LEDGER_PARTS];
};

static void put(struct hs_trend_series *series, const struct hs_trend_axis *axis, uint32_t k,
                uint64_t bytes)
{
    hs_trend_series_put(series, axis, k, &(struct hs_figure){ .value = (double)bytes });
}

static int axis_of(const struct hs_rss_trend *trend, bool is_of_live, struct hs_trend_axis *axis)
{
    double *seconds = calloc((size_t)trend->readings.count + 1, sizeof(*seconds));
    if (!seconds) {
        return -ENOMEM;
    }
    for (uint32_t k = 0; k < trend->readings.count; k++) {
        const struct hs_rss_reading *reading = &trend->readings.items[k];
        uint64_t ns = is_of_live ? reading->live_time_ns : reading->time_ns;
        seconds[k] = (double)ns / 1e9 - (double)trend->readings.items[0].time_ns / 1e9;
    }
    int err = hs_trend_axis_init(seconds, trend->readings.count, axis);
    free(seconds);
    return err;
}

static void draw_lines(struct hs_rss_trend *trend, const struct hs_trend_axis *axis,
                       const struct hs_trend_axis *live_axis)
{
    struct all_series series = { 0 };
    for (uint32_t k = 0; k < trend->readings.count; k++) {
        const struct hs_rss_reading *reading = &trend->readings.items[k];
        put(&series.rss, axis, k, reading->rss_bytes);
        put(&series.pss, axis, k, reading->pss_bytes);
        put(&series.swap, axis, k, reading->swap_bytes);
        put(&series.unexplained, axis, k, reading->unexplained_bytes);
        put(&series.top, axis, k, reading->top_bytes);
        hs_trend_series_put(&series.live, live_axis, k, &reading->live);
        for (unsigned part = 0; part < HS_LEDGER_PARTS; part++) {
            put(&series.parts[part], axis, k, reading->parts_bytes[part]);
        }
    }
    trend->rss = hs_trend_series_line(&series.rss, axis);
    trend->pss = hs_trend_series_line(&series.pss, axis);
    trend->swap = hs_trend_series_line(&series.swap, axis);
    trend->unexplained = hs_trend_series_line(&series.unexplained, axis);
    trend->top = hs_trend_series_line(&series.top, axis);
    trend->live = hs_trend_series_line(&series.live, live_axis);
    for (unsigned part = 0; part < HS_LEDGER_PARTS; part++) {
        trend->parts[part] = hs_trend_series_line(&series.parts[part], axis);
    }
}

static int compute_lines(struct hs_rss_trend *trend)
{
    struct hs_trend_axis axis = { 0 }, live_axis = { 0 };
    int err = axis_of(trend, false, &axis);
    err = err ? err : axis_of(trend, true, &live_axis);
    if (err == 0) {
        const struct hs_rss_reading *last = &trend->readings.items[trend->readings.count - 1];
        trend->seconds = (double)(last->time_ns - trend->readings.items[0].time_ns) / 1e9;
        draw_lines(trend, &axis, &live_axis);
    }
    free(axis.weights);
    free(live_axis.weights);
    return err;
}

/* --- processes -------------------------------------------------------------------------------- */

/* A process of its own: of one with fewer readings than a trend needs, the line is 0. */
static int draw_process(const struct hs_rss_readings *readings, struct hs_rss_process *process)
{
    struct hs_rss_trend trend = { .readings = *readings };
    process->reading_count = readings->count;
    if (readings->count < HS_TREND_DUMPS_MIN) {
        return 0;
    }
    int err = compute_lines(&trend);
    process->pss = trend.pss;
    return err == -ENODATA ? 0 : err;
}

static int add_up(const struct hs_profile *profile, struct hs_rss_trend *trend)
{
    struct hs_rss_readings *of = calloc((size_t)trend->process_count + 1, sizeof(of[0]));
    int err = of ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < trend->process_count && err == 0; i++) {
        struct hs_rss_process *process = &trend->processes[i];
        err = hs_rss_readings_of(profile, process->process, true, &of[i]);
        err = err ? err : draw_process(&of[i], process);
    }
    err = err ? err : hs_rss_readings_sum(of, trend->process_count, &trend->readings);
    for (uint32_t i = 0; i < trend->process_count && of; i++) {
        hs_rss_readings_deinit(&of[i]);
    }
    free(of);
    return err;
}

int hs_rss_trend_build(const struct hs_profile *profile, const uint32_t *processes, uint32_t count,
                       struct hs_rss_trend *ret_trend)
{
    struct hs_rss_trend trend = { .process_count = count };
    trend.processes = calloc((size_t)count + 1, sizeof(trend.processes[0]));
    if (!trend.processes) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        trend.processes[i].process = processes[i];
    }
    int err = count == 1 ? hs_rss_readings_of(profile, processes[0], false, &trend.readings)
                         : add_up(profile, &trend);
    err = err ? err : compute_lines(&trend);
    if (err < 0) {
        hs_rss_trend_deinit(&trend);
        return err;
    }
    *ret_trend = trend;
    return 0;
}

void hs_rss_trend_deinit(struct hs_rss_trend *trend)
{
    hs_rss_readings_deinit(&trend->readings);
    free(trend->processes);
    *trend = (struct hs_rss_trend){ 0 };
}

const struct hs_trend_line *hs_rss_trend_measure(const struct hs_rss_trend *trend)
{
    return trend->process_count > 1 ? &trend->pss : &trend->rss;
}

/* --- verdict ---------------------------------------------------------------------------------- */

static double growth_of(const struct hs_trend_line *line, const struct hs_rate_unit *unit)
{
    bool is_trend = line->verdict == HS_TREND_GROWS || line->verdict == HS_TREND_SHRINKS;
    return is_trend ? line->slope * unit->seconds : 0;
}

struct hs_rss_growth hs_rss_trend_growth(const struct hs_rss_trend *trend)
{
    const struct hs_rss_reading *first = &trend->readings.items[0];
    const struct hs_rss_reading *last = &trend->readings.items[trend->readings.count - 1];
    const struct hs_rate_unit *unit = hs_rate_unit_of(trend->seconds);
    struct hs_rss_growth growth = {
        .all_bytes = growth_of(hs_rss_trend_measure(trend), unit),
        .top_bytes = growth_of(&trend->top, unit),
        .arenas_before = first->arena_count,
        .arenas_after = last->arena_count,
        .process_count = last->process_count,
        .threads_before = first->thread_count,
        .threads_after = last->thread_count,
        .trim_bytes = last->trim_bytes,
    };
    for (unsigned part = 0; part < HS_LEDGER_PARTS; part++) {
        growth.parts_bytes[part] = growth_of(&trend->parts[part], unit);
    }
    growth.least_bytes = NAMED_SHARE * fabs(growth.all_bytes);
    return growth;
}

void hs_rss_trend_write_verdict(const struct hs_rss_trend *trend, struct hs_buf *buf)
{
    struct hs_rss_growth growth = hs_rss_trend_growth(trend);
    const struct hs_trend_line *held = &trend->parts[HS_LEDGER_PART_HELD];
    if (growth.all_bytes > 0 || growth.all_bytes < 0) {
        hs_rss_verdict_write(&growth, hs_rate_unit_of(trend->seconds)->words, buf);
    } else {
        hs_buf_str(buf, "Resident memory has no trend that is above its margin.");
    }
    uint32_t before = trend->readings.items[0].process_count;
    if (before != growth.process_count) {
        hs_buf_printf(buf, " The number of processes went from %u to %u.", before,
                      growth.process_count);
    }
    if (growth.all_bytes > 0 && held->verdict != HS_TREND_GROWS) {
        hs_buf_str(buf,
                   held->verdict == HS_TREND_NOISE
                       ? " Whether the blocks that the program holds grow does not show: their "
                         "trend is within its margin."
                       : " The blocks that the program holds do not grow.");
    }
    hs_rss_advice_write(&growth, buf);
}
