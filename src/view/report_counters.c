/*
 * Counters besides the heap: how the resident memory of a process changed, and (as JSON) all
 * series.
 *
 * See       report_parts.h
 */
#include <stdlib.h>
#include <string.h>

#include "util/json.h"
#include "util/proc_counters.h"
#include "view/report_parts.h"

/* Fewer points say no more than the table above. */
#define POINTS_MIN 3U

static const struct hs_profile_track *find(const struct hs_profile *p, uint32_t process,
                                           enum hs_counter counter)
{
    for (uint32_t i = 0; i < p->track_count; i++) {
        const struct hs_profile_track *track = &p->tracks[i];
        if (track->process == process &&
            strcmp(hs_profile_string(p, track->name), hs_counter_name(counter)) == 0) {
            return track;
        }
    }
    return NULL;
}

static uint64_t after_ns(const struct hs_profile *p, uint32_t process, uint64_t time_ns)
{
    uint64_t start_ns = p->processes[process].start_ns;
    return time_ns > start_ns ? time_ns - start_ns : 0;
}

/* The first of the highest points; NULL when there is none. */
static const struct hs_profile_counter *highest(const struct hs_profile *p,
                                                const struct hs_profile_track *track)
{
    const struct hs_profile_counter *most = NULL;
    for (uint32_t i = 0; i < track->counters_n; i++) {
        const struct hs_profile_counter *point = &p->counters[track->counter_first + i];
        most = !most || point->value > most->value ? point : most;
    }
    return most;
}

const struct hs_profile_counter *hs_report_highest_rss(const struct hs_report *report,
                                                       uint32_t process)
{
    const struct hs_profile_track *track = find(report->profile, process, HS_COUNTER_RSS);
    return track ? highest(report->profile, track) : NULL;
}

/* Writes "resident memory, ...: first 1.30 MiB, highest 129 MiB (after 3.0 s), last 12.0 MiB". */
static void describe(const struct hs_profile *p, uint32_t process,
                     const struct hs_profile_track *track, struct hs_buf *text)
{
    const struct hs_profile_counter *points = &p->counters[track->counter_first];
    const struct hs_profile_counter *last = &points[track->counters_n - 1];
    const struct hs_profile_counter *most = highest(p, track);
    char first[HS_HUMAN_BYTES], peak[HS_HUMAN_BYTES], end[HS_HUMAN_BYTES], when[HS_HUMAN_BYTES];
    hs_human_bytes(first, (double)points->value);
    hs_human_bytes(peak, (double)most->value);
    hs_human_bytes(end, (double)last->value);
    hs_human_duration(when, after_ns(p, process, most->time_ns));
    hs_buf_printf(text,
                  "resident memory, read from time to time in the whole recording: first %s, "
                  "highest %s (after %s), last %s",
                  first, peak, when, end);
}

void hs_report_write_counters(struct hs_report *report)
{
    const struct hs_profile *p = report->profile;
    const struct hs_selection *s = &report->selection;
    uint32_t process = p->dumps[s->dumps[0]].process;
    if (s->dump_count != 1) {
        return;
    }
    const struct hs_profile_track *rss = find(p, process, HS_COUNTER_RSS);
    const struct hs_profile_track *swap = find(p, process, HS_COUNTER_SWAP);
    if (!rss || rss->counters_n < POINTS_MIN) {
        return;
    }
    struct hs_buf text = HS_BUF_INIT;
    describe(p, process, rss, &text);
    if (swap && swap->counters_n > 0) {
        char out[HS_HUMAN_BYTES];
        int64_t last = p->counters[swap->counter_first + swap->counters_n - 1].value;
        if (last > 0) {
            hs_buf_printf(&text, "; %s more are swapped out", hs_human_bytes(out, (double)last));
        }
    }
    hs_report_write_wrapped(report, "  ", hs_buf_text(&text));
    hs_buf_deinit(&text);
}

static void write_points(const struct hs_profile *p, struct hs_json *json,
                         const struct hs_profile_track *track, uint64_t start_ns)
{
    hs_json_key(json, "points");
    hs_json_open_inline(json, '[');
    for (uint32_t i = 0; i < track->counters_n; i++) {
        const struct hs_profile_counter *point = &p->counters[track->counter_first + i];
        double seconds = point->time_ns >= start_ns ? (double)(point->time_ns - start_ns) / 1e9
                                                    : -(double)(start_ns - point->time_ns) / 1e9;
        hs_json_open_inline(json, '[');
        hs_json_double(json, seconds);
        hs_json_int(json, point->value);
        hs_json_close(json, ']');
    }
    hs_json_close(json, ']');
}

void hs_report_json_counters(const struct hs_report *report, struct hs_json *json, uint32_t process,
                             uint64_t start_ns)
{
    static const char *const units[] = { [HS_COUNTER_UNIT_BYTES] = "bytes",
                                         [HS_COUNTER_UNIT_NS] = "ns",
                                         [HS_COUNTER_UNIT_COUNT] = "count" };
    const struct hs_profile *p = report->profile;
    bool is_open = false;
    for (uint32_t i = 0; i < p->track_count; i++) {
        const struct hs_profile_track *track = &p->tracks[i];
        /*
         * The machine's tracks have no process. Nor have those of processes without a heap in the
         * file, but these have a pid.
         */
        if (track->process != process || (process == HS_PROFILE_NO_PROCESS && track->pid != 0)) {
            continue;
        }
        if (!is_open) {
            hs_json_key(json, "counters");
            hs_json_open(json, '[');
            is_open = true;
        }
        hs_json_open_inline(json, '{');
        hs_json_kv_string(json, "name", hs_profile_string(p, track->name));
        hs_json_kv_string(json, "unit", units[track->unit]);
        write_points(p, json, track, start_ns);
        hs_json_close(json, '}');
    }
    if (is_open) {
        hs_json_close(json, ']');
    }
}
