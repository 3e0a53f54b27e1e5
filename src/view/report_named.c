/*
 * The part of the report that lists the snapshots to which a program gave names; nothing when there
 * are none.
 *
 * A name comes from the program: it may contain anything but a NUL.
 *
 * See       report_parts.h
 */
#include <string.h>

#include "util/json.h"
#include "view/report_parts.h"

/* Of more snapshots, only the first ones and the last are listed. */
#define LISTED_MAX 8U

static bool is_listed(const struct hs_report *report, const struct hs_profile_dump *dump)
{
    return dump->name != 0 && report->selection.has_process[dump->process];
}

static uint32_t count_all(const struct hs_report *report)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < report->profile->dump_count; i++) {
        count += is_listed(report, &report->profile->dumps[i]);
    }
    return count;
}

static void add_one(const struct hs_report *report, const struct hs_profile_dump *dump,
                    struct hs_buf *text)
{
    const struct hs_profile *p = report->profile;
    const char *name = hs_profile_string(p, dump->name);
    hs_buf_printf(text, " %u '", dump->index);
    hs_report_write_on_line(text, name, strlen(name));
    hs_buf_char(text, '\'');
    if (report->selection.dump_count > 1) {
        hs_buf_printf(text, " (pid %u)", p->processes[dump->process].pid);
    }
}

void hs_report_write_named(struct hs_report *report)
{
    const struct hs_profile *p = report->profile;
    struct hs_buf text = HS_BUF_INIT;
    uint32_t count = count_all(report), nth = 0;
    if (count == 0) {
        return;
    }
    hs_buf_str(&text, "The program took these snapshots:");
    for (uint32_t i = 0; i < p->dump_count; i++) {
        if (!is_listed(report, &p->dumps[i])) {
            continue;
        }
        nth++;
        if (count <= LISTED_MAX || nth < LISTED_MAX || nth == count) {
            hs_buf_str(&text, nth > 1 ? "," : "");
            add_one(report, &p->dumps[i], &text);
        } else if (nth == LISTED_MAX) {
            hs_buf_printf(&text, ", %u more (--json lists all)", count - LISTED_MAX);
        }
    }
    hs_buf_str(&text, "; --snapshot NAME shows one.");
    hs_report_write_wrapped(report, "", hs_buf_text(&text));
    hs_buf_deinit(&text);
}

void hs_report_json_named(const struct hs_report *report, struct hs_json *json, uint32_t dump_idx)
{
    const struct hs_profile *p = report->profile;
    const struct hs_profile_dump *shown = &p->dumps[dump_idx];
    bool has_any = false;
    if (shown->name != 0) {
        hs_json_kv_string(json, "snapshot_name", hs_profile_string(p, shown->name));
    }
    for (uint32_t i = 0; i < p->dump_count; i++) {
        const struct hs_profile_dump *dump = &p->dumps[i];
        if (dump->process != shown->process || dump->name == 0) {
            continue;
        }
        if (!has_any) {
            hs_json_key(json, "named_snapshots");
            hs_json_open(json, '[');
            has_any = true;
        }
        hs_json_open_inline(json, '{');
        hs_json_kv_uint(json, "snapshot", dump->index);
        hs_json_kv_string(json, "name", hs_profile_string(p, dump->name));
        uint64_t start_ns = p->processes[dump->process].start_ns;
        uint64_t after_ns = dump->time_ns > start_ns ? dump->time_ns - start_ns : 0;
        hs_json_kv_double(json, "seconds", (double)after_ns / 1e9);
        hs_json_close(json, '}');
    }
    if (has_any) {
        hs_json_close(json, ']');
    }
}
