/*
 * Finds what of the resident memory grows: see rss_trend.h.
 */
#include "profile/analyse/rss_trend.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "util/buf.h"

#define SECONDS_PER_MINUTE 60.0
/* A part that grows by less than this share of the whole growth is not worth a word. */
#define NAMED_SHARE 0.02

/* The ledger of a dump, if it is a later reading than the one before; else UINT32_MAX. */
static uint32_t next_ledger(const struct hs_profile *p, const struct hs_profile_dump *dump,
                            uint32_t process, uint64_t after_ns)
{
    bool has_it = dump->process == process && dump->ledger > 0 && dump->ledger <= p->ledger_count;
    return has_it && p->ledgers[dump->ledger - 1].time_ns > after_ns ? dump->ledger - 1
                                                                     : UINT32_MAX;
}

uint32_t hs_rss_trend_reading_count(const struct hs_profile *profile, uint32_t process)
{
    uint32_t count = 0;
    uint64_t time_ns = 0;
    for (uint32_t i = 0; i < profile->dump_count; i++) {
        uint32_t idx = next_ledger(profile, &profile->dumps[i], process, time_ns);
        if (idx != UINT32_MAX) {
            time_ns = profile->ledgers[idx].time_ns;
            count++;
        }
    }
    return count;
}

static int fill_reading(const struct hs_profile *p, const struct hs_profile_dump *dump,
                        uint32_t ledger_idx, struct hs_rss_reading *reading)
{
    struct hs_ledger_part parts[HS_LEDGER_PARTS];
    struct hs_ledger_sums sums;
    int err = hs_ledger_sums_of_one(p, ledger_idx, &sums);
    if (err < 0) {
        return err;
    }
    *reading = (struct hs_rss_reading){
        .time_ns = sums.time_first_ns,
        .rss_bytes = sums.all.rss_bytes,
        .swap_bytes = sums.all.swap_bytes,
        .unexplained_bytes = sums.unexplained.rss_bytes,
        .top_bytes = sums.kinds[HS_LEDGER_MALLOC_TOP].rss_bytes,
        .trim_bytes = sums.trim_bytes,
        .arena_count = sums.arena_count,
        .thread_count = sums.kinds[HS_LEDGER_STACK].count,
        .live_time_ns = dump->time_ns,
        .live = hs_figure_of(&dump->live, false),
    };
    hs_ledger_parts_of(&sums, parts);
    for (unsigned part = 0; part < HS_LEDGER_PARTS; part++) {
        reading->parts_bytes[part] = parts[part].rss_bytes;
    }
    hs_ledger_sums_deinit(&sums);
    return 0;
}

static int fill_readings(const struct hs_profile *p, struct hs_rss_trend *trend)
{
    uint64_t time_ns = 0;
    for (uint32_t i = 0; i < p->dump_count; i++) {
        uint32_t idx = next_ledger(p, &p->dumps[i], trend->process, time_ns);
        if (idx == UINT32_MAX) {
            continue;
        }
        int err = fill_reading(p, &p->dumps[i], idx, &trend->readings[trend->reading_count]);
        if (err < 0) {
            return err;
        }
        time_ns = trend->readings[trend->reading_count++].time_ns;
    }
    return 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

struct all_series {
    struct hs_trend_series rss, swap, unexplained, top, live;
    struct hs_trend_series parts[HS_LEDGER_PARTS];
};

static void put(struct hs_trend_series *series, const struct hs_trend_axis *axis, uint32_t k,
                uint64_t bytes)
{
    hs_trend_series_put(series, axis, k, &(struct hs_figure){ .value = (double)bytes });
}

static int axis_of(const struct hs_rss_trend *trend, bool is_of_live, struct hs_trend_axis *axis)
{
    double *seconds = calloc((size_t)trend->reading_count + 1, sizeof(*seconds));
    if (!seconds) {
        return -ENOMEM;
    }
    for (uint32_t k = 0; k < trend->reading_count; k++) {
        const struct hs_rss_reading *reading = &trend->readings[k];
        uint64_t ns = is_of_live ? reading->live_time_ns : reading->time_ns;
        seconds[k] = (double)ns / 1e9 - (double)trend->readings[0].time_ns / 1e9;
    }
    int err = hs_trend_axis_init(seconds, trend->reading_count, axis);
    free(seconds);
    return err;
}

static void draw_lines(struct hs_rss_trend *trend, const struct hs_trend_axis *axis,
                       const struct hs_trend_axis *live_axis)
{
    struct all_series series = { 0 };
    for (uint32_t k = 0; k < trend->reading_count; k++) {
        const struct hs_rss_reading *reading = &trend->readings[k];
        put(&series.rss, axis, k, reading->rss_bytes);
        put(&series.swap, axis, k, reading->swap_bytes);
        put(&series.unexplained, axis, k, reading->unexplained_bytes);
        put(&series.top, axis, k, reading->top_bytes);
        hs_trend_series_put(&series.live, live_axis, k, &reading->live);
        for (unsigned part = 0; part < HS_LEDGER_PARTS; part++) {
            put(&series.parts[part], axis, k, reading->parts_bytes[part]);
        }
    }
    trend->rss = hs_trend_series_line(&series.rss, axis);
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
        const struct hs_rss_reading *last = &trend->readings[trend->reading_count - 1];
        trend->seconds = (double)(last->time_ns - trend->readings[0].time_ns) / 1e9;
        draw_lines(trend, &axis, &live_axis);
    }
    free(axis.weights);
    free(live_axis.weights);
    return err;
}

int hs_rss_trend_build(const struct hs_profile *profile, uint32_t process,
                       struct hs_rss_trend *ret_trend)
{
    struct hs_rss_trend trend = { .process = process };
    uint32_t count = hs_rss_trend_reading_count(profile, process);
    trend.readings = calloc((size_t)count + 1, sizeof(trend.readings[0]));
    int err = trend.readings ? fill_readings(profile, &trend) : -ENOMEM;
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
    free(trend->readings);
    *trend = (struct hs_rss_trend){ 0 };
}

/* --- verdict ---------------------------------------------------------------------------------- */

static double per_minute(const struct hs_trend_line *line)
{
    bool is_trend = line->verdict == HS_TREND_GROWS || line->verdict == HS_TREND_SHRINKS;
    return is_trend ? line->slope * SECONDS_PER_MINUTE : 0;
}

struct hs_rss_growth hs_rss_trend_growth(const struct hs_rss_trend *trend)
{
    const struct hs_rss_reading *first = &trend->readings[0];
    const struct hs_rss_reading *last = &trend->readings[trend->reading_count - 1];
    struct hs_rss_growth growth = {
        .all_bytes = per_minute(&trend->rss),
        .top_bytes = per_minute(&trend->top),
        .arenas_before = first->arena_count,
        .arenas_after = last->arena_count,
        .process_count = 1,
        .threads_before = first->thread_count,
        .threads_after = last->thread_count,
        .trim_bytes = last->trim_bytes,
    };
    for (unsigned part = 0; part < HS_LEDGER_PARTS; part++) {
        growth.parts_bytes[part] = per_minute(&trend->parts[part]);
    }
    growth.least_bytes = NAMED_SHARE * fabs(growth.all_bytes);
    return growth;
}

void hs_rss_trend_write_verdict(const struct hs_rss_trend *trend, struct hs_buf *buf)
{
    struct hs_rss_growth growth = hs_rss_trend_growth(trend);
    const struct hs_trend_line *held = &trend->parts[HS_LEDGER_PART_HELD];
    if (growth.all_bytes > 0 || growth.all_bytes < 0) {
        hs_rss_verdict_write(&growth, " a minute", buf);
    } else {
        hs_buf_str(buf, "Resident memory has no trend that is above its margin.");
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
