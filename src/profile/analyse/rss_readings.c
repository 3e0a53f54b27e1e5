/*
 * Collects readings of resident memory: see rss_readings.h.
 */
#include "profile/analyse/rss_readings.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/analyse/ledger_sums.h"

/* The ledger of a dump, if it is a later reading than the one before; else UINT32_MAX. */
static uint32_t next_ledger(const struct hs_profile *p, const struct hs_profile_dump *dump,
                            uint32_t process, uint64_t after_ns)
{
    bool has_it = dump->process == process && dump->ledger > 0 && dump->ledger <= p->ledger_count;
    return has_it && p->ledgers[dump->ledger - 1].time_ns > after_ns ? dump->ledger - 1
                                                                     : UINT32_MAX;
}

uint32_t hs_rss_readings_count(const struct hs_profile *profile, uint32_t process)
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
                        uint32_t ledger_idx, bool is_pss, struct hs_rss_reading *reading)
{
    struct hs_ledger_part parts[HS_LEDGER_PARTS];
    struct hs_ledger_sums sums;
    int err = hs_ledger_sums_of_one(p, ledger_idx, &sums);
    if (err < 0) {
        return err;
    }
    const struct hs_ledger_sum *top = &sums.kinds[HS_LEDGER_MALLOC_TOP];
    *reading = (struct hs_rss_reading){
        .time_ns = sums.time_first_ns,
        .process_count = 1,
        .rss_bytes = sums.all.rss_bytes,
        .pss_bytes = sums.all.pss_bytes,
        .swap_bytes = sums.all.swap_bytes,
        .unexplained_bytes = is_pss ? sums.unexplained.pss_bytes : sums.unexplained.rss_bytes,
        .top_bytes = is_pss ? top->pss_bytes : top->rss_bytes,
        .trim_bytes = sums.trim_bytes,
        .arena_count = sums.arena_count,
        .thread_count = sums.kinds[HS_LEDGER_STACK].count,
        .live_time_ns = dump->time_ns,
        .live = hs_figure_of(&dump->live, false),
    };
    hs_ledger_parts_of(&sums, parts);
    for (unsigned part = 0; part < HS_LEDGER_PARTS; part++) {
        reading->parts_bytes[part] = is_pss ? parts[part].pss_bytes : parts[part].rss_bytes;
    }
    hs_ledger_sums_deinit(&sums);
    return 0;
}

int hs_rss_readings_of(const struct hs_profile *profile, uint32_t process, bool is_pss,
                       struct hs_rss_readings *ret_readings)
{
    struct hs_rss_readings readings = { 0 };
    uint64_t time_ns = 0;
    size_t count = hs_rss_readings_count(profile, process);
    readings.items = calloc(count + 1, sizeof(readings.items[0]));
    if (!readings.items) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < profile->dump_count; i++) {
        const struct hs_profile_dump *dump = &profile->dumps[i];
        uint32_t idx = next_ledger(profile, dump, process, time_ns);
        if (dump->process == process && dump->time_ns > readings.until_ns) {
            readings.until_ns = dump->time_ns;
        }
        if (idx == UINT32_MAX) {
            continue;
        }
        int err = fill_reading(profile, dump, idx, is_pss, &readings.items[readings.count]);
        if (err < 0) {
            hs_rss_readings_deinit(&readings);
            return err;
        }
        time_ns = readings.items[readings.count++].time_ns;
    }
    *ret_readings = readings;
    return 0;
}

/* --- several processes ------------------------------------------------------------------------ */

/* The mean time between two readings of the process that has the most. */
static uint64_t find_spacing_ns(const struct hs_rss_readings *of, uint32_t count)
{
    const struct hs_rss_readings *most = &of[0];
    for (uint32_t i = 1; i < count; i++) {
        most = of[i].count > most->count ? &of[i] : most;
    }
    return most->count > 1
               ? (most->items[most->count - 1].time_ns - most->items[0].time_ns) / (most->count - 1)
               : 0;
}

static int compare_times(const void *a, const void *b)
{
    const struct hs_rss_reading *x = a, *y = b;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Makes the moments, without figures. */
static int find_moments(const struct hs_rss_readings *of, uint32_t count,
                        struct hs_rss_readings *sum)
{
    uint64_t apart_ns = find_spacing_ns(of, count) / 2;
    size_t all = 0, n = 0;
    for (uint32_t i = 0; i < count; i++) {
        all += of[i].count;
    }
    sum->items = calloc(all + 1, sizeof(sum->items[0]));
    if (!sum->items) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < of[i].count; k++) {
            sum->items[n++].time_ns = of[i].items[k].time_ns;
        }
    }
    qsort(sum->items, n, sizeof(sum->items[0]), compare_times);
    for (size_t i = 0; i < n; i++) {
        uint64_t time_ns = sum->items[i].time_ns;
        if (sum->count == 0 || time_ns - sum->items[sum->count - 1].time_ns > apart_ns) {
            sum->items[sum->count++] =
                (struct hs_rss_reading){ .time_ns = time_ns, .live_time_ns = time_ns };
        }
    }
    return 0;
}

static void add_reading(struct hs_rss_reading *sum, const struct hs_rss_reading *more)
{
    sum->process_count += more->process_count;
    sum->rss_bytes += more->rss_bytes;
    sum->pss_bytes += more->pss_bytes;
    sum->swap_bytes += more->swap_bytes;
    sum->unexplained_bytes += more->unexplained_bytes;
    sum->top_bytes += more->top_bytes;
    sum->trim_bytes += more->trim_bytes;
    sum->arena_count += more->arena_count;
    sum->thread_count += more->thread_count;
    hs_figure_add(&sum->live, &more->live);
    for (unsigned part = 0; part < HS_LEDGER_PARTS; part++) {
        sum->parts_bytes[part] += more->parts_bytes[part];
    }
}

/* Does the reading belong to moment k, or to an earlier one? */
static bool is_until(const struct hs_rss_readings *sum, uint32_t k,
                     const struct hs_rss_reading *reading)
{
    return k + 1 == sum->count || reading->time_ns < sum->items[k + 1].time_ns;
}

static void add_process(struct hs_rss_readings *sum, const struct hs_rss_readings *of)
{
    uint32_t read = 0; /* readings until now */
    for (uint32_t k = 0; k < sum->count; k++) {
        bool is_new = false;
        while (read < of->count && is_until(sum, k, &of->items[read])) {
            read++;
            is_new = true;
        }
        if (read > 0 && (sum->items[k].time_ns <= of->until_ns || is_new)) {
            add_reading(&sum->items[k], &of->items[read - 1]);
        }
    }
}

int hs_rss_readings_sum(const struct hs_rss_readings *of, uint32_t count,
                        struct hs_rss_readings *ret_sum)
{
    struct hs_rss_readings sum = { 0 };
    int err = find_moments(of, count, &sum);
    if (err < 0) {
        return err;
    }
    for (uint32_t i = 0; i < count; i++) {
        add_process(&sum, &of[i]);
    }
    *ret_sum = sum;
    return 0;
}

void hs_rss_readings_deinit(struct hs_rss_readings *readings)
{
    free(readings->items);
    *readings = (struct hs_rss_readings){ 0 };
}
