/* Writes a comparison as JSON. Keys are only added, never renamed. See diff_view.h. */
#include <stdlib.h>

#include "util/json.h"
#include "view/diff_view.h"
#include "view/report_parts.h"

#define FORMAT 1

void hs_diff_json_change(const struct hs_diff *diff, struct hs_json *json,
                         const struct hs_diff_amounts *amounts)
{
    struct hs_diff_change change = hs_diff_change_of(diff, amounts);
    hs_json_kv_double(json, "before", change.before);
    hs_json_kv_double(json, "after", change.after);
    hs_json_kv_double(json, "change", change.delta);
    hs_json_kv_double(json, "low", change.low);
    hs_json_kv_double(json, "high", change.high);
    hs_json_kv_string(json, "verdict", hs_diff_verdict_names[change.verdict]);
}

static int write_side(const struct hs_diff_options *options, int side, const char *key,
                      struct hs_json *json)
{
    const struct hs_selection *s = options->selections[side];
    const struct hs_profile *p = s->profile;
    hs_json_key(json, key);
    hs_json_open(json, '{');
    hs_json_kv_string(json, "file", options->names[side]);
    hs_json_kv_double(json, "duration_seconds",
                      s->end_ns > s->start_ns ? (double)(s->end_ns - s->start_ns) / 1e9 : 0);
    hs_json_kv_uint(json, "interval_bytes", s->interval_max_bytes);
    hs_json_key(json, "processes");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < s->dump_count; i++) {
        const struct hs_profile_dump *dump = &p->dumps[s->dumps[i]];
        hs_json_open_inline(json, '{');
        hs_json_kv_uint(json, "pid", p->processes[dump->process].pid);
        hs_json_kv_string(json, "name", hs_profile_string(p, p->processes[dump->process].name));
        hs_json_kv_uint(json, "snapshot", dump->index);
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
    int err = hs_report_json_heaps(s, json);
    hs_json_close(json, '}');
    return err;
}

static void write_processes(const struct hs_diff *diff, struct hs_json *json)
{
    hs_json_key(json, "processes");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < diff->process_count; i++) {
        const struct hs_diff_process *process = &diff->processes[i];
        hs_json_open_inline(json, '{');
        hs_json_kv_string(json, "name", diff->text.data + process->name_off);
        hs_json_kv_uint(json, "count_before", process->counts[HS_DIFF_BEFORE]);
        hs_json_kv_uint(json, "count_after", process->counts[HS_DIFF_AFTER]);
        hs_diff_json_change(diff, json, &process->total);
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
}

static int write_functions(const struct hs_diff *diff, struct hs_json *json)
{
    uint32_t *order;
    uint32_t count;
    int err = hs_diff_sorted_functions(diff, &order, &count);
    hs_json_key(json, "functions");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < count && err == 0; i++) {
        const struct hs_diff_function *f = &diff->functions[order[i]];
        hs_json_open(json, '{');
        hs_json_kv_string(json, "function", hs_diff_name(diff, order[i]));
        hs_json_kv_string(json, "module", hs_diff_module(diff, order[i]));
        hs_diff_json_change(diff, json, &f->self);
        hs_json_key(json, "with_callees");
        hs_json_open_inline(json, '{');
        hs_diff_json_change(diff, json, &f->total);
        hs_json_close(json, '}');
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
    if (err == 0) {
        free(order);
    }
    return err;
}

static int write_stacks(const struct hs_diff *diff, struct hs_json *json)
{
    uint32_t *order;
    uint32_t count;
    int err = hs_diff_sorted_stacks(diff, &order, &count);
    hs_json_key(json, "stacks");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < count && err == 0; i++) {
        hs_json_open(json, '{');
        hs_diff_json_change(diff, json, &diff->nodes[order[i]].self);
        hs_json_key(json, "frames"); /* innermost first */
        hs_json_open(json, '[');
        for (uint32_t n = order[i]; n != HS_NODE_NONE; n = diff->nodes[n].parent) {
            hs_json_string(json, hs_diff_name(diff, diff->nodes[n].function));
        }
        hs_json_close(json, ']');
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
    if (err == 0) {
        free(order);
    }
    return err;
}

int hs_diff_write_json(const struct hs_diff *diff, const struct hs_part_diff *parts,
                       const struct hs_diff_options *options, struct hs_buf *buf)
{
    struct hs_json json;
    hs_json_init(&json, buf, 1);
    hs_json_open(&json, '{');
    hs_json_kv_uint(&json, "format", FORMAT);
    hs_json_kv_string(&json, "view", hs_views[diff->view].name);
    hs_json_kv_string(&json, "unit", hs_views[diff->view].is_count ? "objects" : "bytes");
    int err = write_side(options, HS_DIFF_BEFORE, "before", &json);
    err = err ? err : write_side(options, HS_DIFF_AFTER, "after", &json);
    if (hs_filter_words_is_any(&options->filters)) {
        hs_json_key(&json, "focus");
        hs_json_open(&json, '{');
        hs_filter_words_json(&options->filters, &json);
        hs_json_close(&json, '}');
    }
    hs_json_key(&json, "total");
    hs_json_open_inline(&json, '{');
    hs_diff_json_change(diff, &json, &diff->total);
    hs_json_close(&json, '}');
    hs_json_kv_double(&json, "scale", diff->scale);
    err = err ? err : hs_diff_json_ledger(options, &json);
    write_processes(diff, &json);
    if (parts) {
        hs_diff_json_by(diff, parts, &json);
    }
    err = err ? err : write_functions(diff, &json);
    if (err == 0) {
        err = write_stacks(diff, &json);
    }
    hs_json_close(&json, '}');
    hs_buf_char(buf, '\n');
    return err ? err : buf->err;
}
