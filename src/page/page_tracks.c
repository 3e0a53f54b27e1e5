/*
 * Writes the counters of processes and the machine, the changes of the sampling interval, and when
 * something was lost. See page_parts.h.
 */
#include <math.h>

#include "page/page_column.h"
#include "page/page_parts.h"
#include "profile/model/describe.h"
#include "profile/model/loss.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/proc_counters.h"

struct track {
    const struct hs_page_source *source;
    const struct hs_profile_counter *counters;
};

static double value_time(const void *ctx, uint32_t row)
{
    const struct track *track = ctx;
    return round(hs_page_ms(track->source, track->counters[row].time_ns));
}

static double value_of(const void *ctx, uint32_t row)
{
    return (double)((const struct track *)ctx)->counters[row].value;
}

static void kv_known(struct hs_json *json, const char *key, bool is_known, uint32_t value)
{
    hs_json_key(json, key);
    if (is_known) {
        hs_json_uint(json, value);
    } else {
        hs_json_null(json);
    }
}

static void write_track(const struct hs_page_source *source, uint32_t file,
                        const struct hs_profile_track *track, struct hs_json *json)
{
    const struct hs_profile *p = source->profile;
    const struct track values = { source, track->counters_n > 0 ? &p->counters[track->counter_first]
                                                                : NULL };
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "file", file);
    kv_known(json, "process", track->process < p->process_count,
             source->process_first + track->process);
    kv_known(json, "pid", track->pid != 0, track->pid);
    hs_json_kv_string(json, "name", hs_profile_string(p, track->name));
    hs_json_kv_string(json, "unit",
                      track->unit == HS_COUNTER_UNIT_BYTES ? "bytes"
                      : track->unit == HS_COUNTER_UNIT_NS  ? "ns"
                                                           : "count");
    hs_json_kv_uint(json, "count", track->counters_n);
    hs_page_column_steps(json, "time_ms", track->counters_n, value_time, &values);
    hs_page_column_steps(json, "value", track->counters_n, value_of, &values);
    hs_json_close(json, '}');
}

static void write_change(const struct hs_page_source *source,
                         const struct hs_profile_change *change, struct hs_json *json)
{
    struct hs_buf text = HS_BUF_INIT;
    hs_describe_change(source->profile, change, &text);
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "process", source->process_first + change->process);
    hs_json_kv_double(json, "time_ms", hs_page_ms(source, change->time_ns));
    hs_json_kv_uint(json, "from_bytes", change->from_bytes);
    hs_json_kv_uint(json, "to_bytes", change->to_bytes);
    hs_json_kv_string(json, "reason", hs_describe_change_reason(change));
    hs_json_kv_string(json, "text", hs_buf_text(&text));
    hs_json_close(json, '}');
    hs_buf_deinit(&text);
}

static void write_loss_time(const struct hs_page_source *source,
                            const struct hs_profile_loss_time *time, struct hs_json *json)
{
    const struct hs_profile *p = source->profile;
    struct hs_buf text = HS_BUF_INIT;
    hs_loss_describe(p, &time->loss, NULL, &text);
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "process", source->process_first + time->loss.process);
    hs_json_kv_double(json, "from_ms", hs_page_ms(source, time->from_ns));
    hs_json_kv_double(json, "to_ms", hs_page_ms(source, time->to_ns));
    hs_json_kv_string(json, "name", hs_profile_string(p, time->loss.name));
    hs_json_kv_uint(json, "count", time->loss.count);
    hs_json_kv_bool(json, "is_serious", time->loss.is_serious);
    hs_json_kv_string(json, "text", hs_buf_text(&text));
    hs_json_close(json, '}');
    hs_buf_deinit(&text);
}

void hs_page_tracks_write(const struct hs_page *page, struct hs_json *json)
{
    hs_json_key(json, "tracks");
    hs_json_open(json, '[');
    for (uint32_t file = 0; file < page->source_count; file++) {
        const struct hs_page_source *source = &page->sources[file];
        for (uint32_t i = 0; i < source->profile->track_count; i++) {
            write_track(source, file, &source->profile->tracks[i], json);
        }
    }
    hs_json_close(json, ']');
    hs_json_key(json, "changes");
    hs_json_open(json, '[');
    for (uint32_t file = 0; file < page->source_count; file++) {
        const struct hs_page_source *source = &page->sources[file];
        for (uint32_t i = 0; i < source->profile->change_count; i++) {
            write_change(source, &source->profile->changes[i], json);
        }
    }
    hs_json_close(json, ']');
    hs_json_key(json, "loss_times");
    hs_json_open(json, '[');
    for (uint32_t file = 0; file < page->source_count; file++) {
        const struct hs_page_source *source = &page->sources[file];
        for (uint32_t i = 0; i < source->profile->loss_time_count; i++) {
            write_loss_time(source, &source->profile->loss_times[i], json);
        }
    }
    hs_json_close(json, ']');
}
