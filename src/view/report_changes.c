/*
 * The part of the report that says when and why a process's interval was raised or lowered again.
 *
 * See       report_parts.h, collect/budget.h
 */
#include "profile/model/describe.h"
#include "util/json.h"
#include "view/report_parts.h"

/* Of more changes, only the first ones and the last are shown. */
#define TOLD_MAX 4U

/* Only changes before the selected snapshot count. */
static bool is_part(const struct hs_profile_dump *dump, const struct hs_profile_change *change)
{
    return change->process == dump->process && change->time_ns <= dump->time_ns;
}

static uint32_t count_of(const struct hs_profile *p, const struct hs_profile_dump *dump)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->change_count; i++) {
        count += is_part(dump, &p->changes[i]);
    }
    return count;
}

static void write_change(struct hs_report *report, const struct hs_profile_change *change)
{
    struct hs_buf text = HS_BUF_INIT;
    hs_describe_change(report->profile, change, &text);
    hs_report_write_wrapped(report, "  ", hs_buf_text(&text));
    hs_buf_deinit(&text);
}

static void write_one_process(struct hs_report *report, const struct hs_profile_dump *dump)
{
    const struct hs_profile *p = report->profile;
    uint32_t count = count_of(p, dump), nth = 0;
    for (uint32_t i = 0; i < p->change_count; i++) {
        if (!is_part(dump, &p->changes[i])) {
            continue;
        }
        nth++;
        if (count <= TOLD_MAX || nth < TOLD_MAX || nth == count) {
            write_change(report, &p->changes[i]);
        } else if (nth == TOLD_MAX) {
            hs_buf_printf(report->buf, "  (%u more in between; --json lists all)\n",
                          count - TOLD_MAX);
        }
    }
}

static void write_all_processes(struct hs_report *report)
{
    const struct hs_profile *p = report->profile;
    const struct hs_selection *s = &report->selection;
    struct hs_buf text = HS_BUF_INIT;
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->dump_count; i++) {
        count += count_of(p, &p->dumps[s->dumps[i]]) > 0;
    }
    if (count > 0) {
        hs_buf_printf(&text,
                      "to stay within a budget, heapscope changed the sampling interval of %u of "
                      "the processes; --json lists each change",
                      count);
        hs_report_write_wrapped(report, "  ", hs_buf_text(&text));
    }
    hs_buf_deinit(&text);
}

void hs_report_write_changes(struct hs_report *report)
{
    const struct hs_selection *s = &report->selection;
    if (s->dump_count == 1) {
        write_one_process(report, &report->profile->dumps[s->dumps[0]]);
    } else {
        write_all_processes(report);
    }
}

void hs_report_json_changes(const struct hs_report *report, struct hs_json *json,
                            const struct hs_profile_dump *dump)
{
    const struct hs_profile *p = report->profile;
    if (count_of(p, dump) == 0) {
        return;
    }
    hs_json_key(json, "interval_changes");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < p->change_count; i++) {
        const struct hs_profile_change *change = &p->changes[i];
        struct hs_buf text = HS_BUF_INIT;
        if (!is_part(dump, change)) {
            continue;
        }
        uint64_t start_ns = p->processes[dump->process].start_ns;
        double after_ns = change->time_ns > start_ns ? (double)(change->time_ns - start_ns) : 0;
        hs_describe_change(p, change, &text);
        hs_json_open_inline(json, '{');
        hs_json_kv_double(json, "at_seconds", after_ns / 1e9);
        hs_json_kv_uint(json, "from_bytes", change->from_bytes);
        hs_json_kv_uint(json, "to_bytes", change->to_bytes);
        hs_json_kv_string(json, "reason", hs_describe_change_reason(change));
        hs_json_kv_uint(json, "limit", change->limit);
        hs_json_kv_uint(json, "snapshot_rarity", change->rarity);
        hs_json_kv_string(json, "text", hs_buf_text(&text));
        hs_json_close(json, '}');
        hs_buf_deinit(&text);
    }
    hs_json_close(json, ']');
}
