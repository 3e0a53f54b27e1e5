/*
 * The report as JSON: the content of the text, unrounded. See report_parts.h.
 *
 * Sizes are in bytes, times in seconds. Each estimated amount has its 95 % margin. Stacks have
 * live, alloc and peak values at once; functions and tree have those of the view. Keys are only
 * added, never renamed: `format` counts the changes that would break a reader.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile/analyse/peak_overlap.h"
#include "profile/model/describe.h"
#include "util/json.h"
#include "view/report_parts.h"

#define FORMAT 1

/*
 * Writes one margin that holds on both sides, and the two ends of the interval, which are tighter.
 */
static void write_range(struct hs_json *json, const char *name, const struct hs_amount *amount,
                        bool is_count)
{
    char key[24];
    struct hs_figure figure = hs_figure_of(amount, is_count);
    struct hs_margin margin = hs_margin_of(&figure);
    snprintf(key, sizeof(key), "%s_margin", name);
    hs_json_kv_double(json, key, fmax(margin.below, margin.above));
    snprintf(key, sizeof(key), "%s_low", name);
    hs_json_kv_double(json, key, figure.value - margin.below);
    snprintf(key, sizeof(key), "%s_high", name);
    hs_json_kv_double(json, key, figure.value + margin.above);
}

void hs_report_json_amount(struct hs_json *json, const char *key, const struct hs_amount *amount)
{
    hs_json_key(json, key);
    hs_json_open_inline(json, '{');
    hs_json_kv_double(json, "bytes", amount->bytes);
    hs_json_kv_double(json, "count", amount->count);
    if (amount->interval_bytes > 1 || amount->bytes_var > 0 || amount->count_var > 0 ||
        amount->peak_short_bytes > 0) {
        write_range(json, "bytes", amount, false);
        write_range(json, "count", amount, true);
    }
    hs_json_close(json, '}');
}

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

void hs_report_json_function(const struct hs_report *report, struct hs_json *json,
                             const struct hs_agg *agg, uint32_t function)
{
    struct hs_buf name = HS_BUF_INIT;
    hs_agg_write_function(agg, function, &name);
    hs_json_kv_string(json, "function", hs_buf_text(&name));
    hs_buf_deinit(&name);
    uint32_t module = agg->functions[function].module;
    if (module < report->profile->module_count) {
        hs_json_kv_string(
            json, "module",
            hs_profile_string(report->profile, report->profile->modules[module].path));
    }
    if (agg->functions[function].file != 0) {
        hs_json_kv_string(json, "file",
                          hs_profile_string(report->profile, agg->functions[function].file));
    }
}

/* Writes a figure that is 0 when it is unknown. */
static void kv_if_known(struct hs_json *json, const char *key, uint64_t value)
{
    if (value != 0) {
        hs_json_kv_uint(json, key, value);
    }
}

static int write_process(struct hs_report *report, struct hs_json *json, uint32_t dump_idx)
{
    const struct hs_profile *p = report->profile;
    const struct hs_profile_dump *dump = &p->dumps[dump_idx];
    const struct hs_profile_process *process = &p->processes[dump->process];
    struct hs_buf end = HS_BUF_INIT;
    hs_describe_end(p, dump->process, &end);
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "pid", process->pid);
    hs_json_kv_uint(json, "ppid", process->ppid);
    if (process->forked_from_pid != 0) {
        hs_json_kv_uint(json, "forked_from_pid", process->forked_from_pid);
    }
    hs_json_kv_string(json, "name", hs_profile_string(p, process->name));
    hs_json_kv_string(json, "exe", hs_profile_string(p, process->exe));
    hs_json_kv_string(json, "cmdline", hs_profile_string(p, process->cmdline));
    hs_json_kv_string(json, "malloc", hs_profile_string(p, process->malloc_path));
    hs_json_kv_bool(json, "has_own_malloc", process->has_own_malloc);
    hs_json_kv_bool(json, "is_from_startup", process->is_from_startup);
    hs_json_kv_string(json, "end", hs_buf_text(&end));
    if (hs_describe_has_status(process) || hs_describe_has_signal(process)) {
        hs_json_key(json, hs_describe_has_status(process) ? "exit_status" : "exit_signal");
        hs_json_int(json, process->exit_value);
        if (process->is_oom_killed) {
            hs_json_kv_bool(json, "is_oom_killed", true);
        }
    }
    hs_json_kv_uint(json, "snapshot", dump->index);
    hs_json_kv_uint(json, "snapshot_count", process->dump_count);
    hs_report_json_named(report, json, dump_idx);
    hs_json_kv_bool(json, "is_final", dump->is_final);
    hs_json_kv_double(json, "duration_seconds", seconds(process->start_ns, dump->time_ns));
    if (dump->peak_time_ns != 0) {
        hs_json_kv_double(json, "peak_at_seconds", seconds(process->start_ns, dump->peak_time_ns));
    }
    hs_json_kv_uint(json, "interval_bytes", dump->interval_bytes);
    kv_if_known(json, "asked_interval_bytes", dump->orig_interval_bytes);
    hs_report_json_changes(report, json, dump);
    hs_json_kv_uint(json, "sample_count", dump->sample_count);
    hs_report_json_blocks(dump, json);
    hs_json_kv_bool(json, "has_scaled_counts", dump->has_scaled_counts);
    kv_if_known(json, "recorder_bytes", dump->region_bytes);
    if (dump->client_cpu_ns != 0) {
        hs_json_kv_double(json, "recorder_cpu_seconds", (double)dump->client_cpu_ns / 1e9);
    }
    kv_if_known(json, "rss_bytes", dump->rss_bytes);
    kv_if_known(json, "rss_peak_bytes", dump->rss_peak_bytes);
    kv_if_known(json, "rss_start_bytes", dump->rss_start_bytes);
    hs_report_json_amount(json, "live", &dump->live);
    hs_report_json_amount(json, "alloc", &dump->alloc);
    if (dump->has_peak) {
        hs_report_json_amount(json, "peak", &dump->peak);
    }
    int err = hs_report_json_process_ledger(report, json, dump);
    hs_report_json_counters(report, json, dump->process, process->start_ns);
    hs_json_close(json, '}');
    hs_buf_deinit(&end);
    return err;
}

/* What the recording cost the collector. */
static void write_cost(const struct hs_profile *p, struct hs_json *json)
{
    const struct hs_profile_cost *cost = &p->cost;
    hs_json_key(json, "cost");
    if (!p->has_cost) {
        hs_json_null(json);
        return;
    }
    hs_json_open_inline(json, '{');
    hs_json_kv_double(json, "recording_cpu_seconds", (double)cost->recording_cpu_ns / 1e9);
    hs_json_kv_double(json, "names_cpu_seconds", (double)cost->names_cpu_ns / 1e9);
    if (cost->collector_cpu_ns != 0) {
        hs_json_kv_double(json, "collector_cpu_seconds", (double)cost->collector_cpu_ns / 1e9);
    }
    kv_if_known(json, "collector_peak_rss_bytes", cost->collector_rss_peak_bytes);
    hs_json_close(json, '}');
}

static double seconds_into(const struct hs_profile_process *process, uint64_t time_ns)
{
    return time_ns > process->start_ns ? (double)(time_ns - process->start_ns) / 1e9 : 0;
}

/* When it was lost, as far as the file knows. */
static void write_loss_times(const struct hs_profile *p, const struct hs_profile_loss *loss,
                             struct hs_json *json)
{
    bool is_first = true;
    for (uint32_t i = 0; i < p->loss_time_count; i++) {
        const struct hs_profile_loss_time *time = &p->loss_times[i];
        if (time->loss.process != loss->process || time->loss.name != loss->name) {
            continue;
        }
        if (is_first) {
            hs_json_key(json, "times");
            hs_json_open_inline(json, '[');
            is_first = false;
        }
        const struct hs_profile_process *process = &p->processes[loss->process];
        hs_json_open_inline(json, '{');
        hs_json_kv_double(json, "from_seconds", seconds_into(process, time->from_ns));
        hs_json_kv_double(json, "to_seconds", seconds_into(process, time->to_ns));
        hs_json_kv_uint(json, "count", time->loss.count);
        hs_json_close(json, '}');
    }
    if (!is_first) {
        hs_json_close(json, ']');
    }
}

static void write_losses(struct hs_report *report, struct hs_json *json)
{
    const struct hs_profile *p = report->profile;
    /* An empty list of losses means that nothing was lost only if the file could have some. */
    hs_json_kv_bool(json, "is_loss_known", !p->origin);
    hs_json_key(json, "losses");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < p->loss_count; i++) {
        const struct hs_profile_loss *loss = &p->losses[i];
        if (!hs_selection_has_loss(&report->selection, loss)) {
            continue;
        }
        hs_json_open_inline(json, '{');
        if (loss->process < p->process_count) {
            hs_json_kv_uint(json, "pid", p->processes[loss->process].pid);
        }
        hs_json_kv_string(json, "name", hs_profile_string(p, loss->name));
        hs_json_kv_uint(json, "count", loss->count);
        if (loss->alloc_count > 0) {
            hs_json_kv_double(json, "allocations", loss->alloc_count);
            hs_json_kv_double(json, "bytes", loss->bytes);
        }
        hs_json_kv_bool(json, "is_serious", loss->is_serious);
        hs_json_kv_string(json, "text", hs_profile_string(p, loss->text));
        write_loss_times(p, loss, json);
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
}

static void write_functions(struct hs_report *report, struct hs_json *json, enum hs_agg_order order)
{
    hs_agg_sort_functions(report->rows, report->row_count, report->view, order);
    uint32_t top = report->options->top_count;
    hs_json_key(json, order == HS_AGG_BY_SELF ? "functions_by_self" : "functions_by_total");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < report->row_count && i < top; i++) {
        hs_json_open_inline(json, '{');
        hs_report_json_function(report, json, &report->agg, report->rows[i].function);
        const char *folded = hs_report_folded(report, report->rows[i].function);
        if (folded) {
            hs_json_kv_string(json, "folded_functions", folded);
        }
        hs_report_json_amount(json, "self", &report->rows[i].self);
        hs_report_json_amount(json, "total", &report->rows[i].total);
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
}

void hs_report_json_frames(const struct hs_report *report, struct hs_json *json, uint32_t leaf)
{
    const struct hs_profile *p = report->profile;
    hs_json_key(json, "frames");
    hs_json_open(json, '[');
    for (uint32_t n = leaf; n != HS_NODE_NONE; n = report->agg.nodes[n].parent) {
        uint32_t line = report->agg.nodes[n].line;
        hs_json_open_inline(json, '{');
        hs_report_json_function(report, json, &report->agg, report->agg.nodes[n].function);
        if (line != UINT32_MAX && p->lines[line].file != 0) {
            hs_json_kv_string(json, "file", hs_profile_string(p, p->lines[line].file));
            hs_json_kv_uint(json, "line", p->lines[line].line);
        }
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
}

static int write_stacks(struct hs_report *report, struct hs_json *json)
{
    uint32_t *order;
    uint32_t count;
    int err = hs_agg_sorted_stacks(&report->agg, report->view, &order, &count);
    if (err < 0) {
        return err;
    }
    hs_json_kv_uint(json, "stack_count", count);
    hs_json_key(json, "stacks");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < count && i < report->options->stack_count; i++) {
        const struct hs_agg_self *self = &report->agg.selves[order[i]];
        hs_json_open(json, '{');
        hs_report_json_amount(json, "live", &self->by[HS_QUANTITY_LIVE]);
        hs_report_json_amount(json, "alloc", &self->by[HS_QUANTITY_ALLOC]);
        if (report->selection.has_peak) {
            hs_report_json_amount(json, "peak", &self->by[HS_QUANTITY_PEAK]);
        }
        hs_report_json_frames(report, json, self->node);
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
    free(order);
    return 0;
}

/* "peak" is the sum of the processes' peaks; this is what they held at the same time. */
static int write_overlap(struct hs_json *json, const struct hs_selection *s)
{
    struct hs_peak_overlap overlap;
    if (!s->has_peak || !s->is_peak_of_several || s->is_peak_of_all) {
        return 0;
    }
    int err = hs_peak_overlap_of(s, &overlap);
    if (err == 0) {
        hs_json_key(json, "peak_at_one_moment");
        hs_json_open_inline(json, '{');
        hs_json_kv_double(json, "bytes_low", overlap.low_bytes);
        hs_json_kv_double(json, "bytes_high", overlap.high_bytes);
        hs_json_close(json, '}');
    }
    return err;
}

/* What is known of the allocations that are missing. */
static void write_missing(struct hs_json *json, const struct hs_selection *s)
{
    if (s->missing_alloc_count > 0) {
        hs_json_key(json, "missing");
        hs_json_open_inline(json, '{');
        hs_json_kv_double(json, "allocations", s->missing_alloc_count);
        hs_json_kv_double(json, "bytes", s->missing_bytes);
        hs_json_close(json, '}');
    }
}

/* The focus, and the parts that the options ask for. */
static int write_parts(struct hs_report *report, struct hs_json *json)
{
    hs_report_json_focus(report, json);
    if (report->options->form != HS_REPORT_JSON_TREE) {
        return hs_report_json_by(report, json);
    }
    return report->options->by.by_count > 0 ? hs_report_json_trees(report, json) : 0;
}

static int write_totals(struct hs_json *json, const struct hs_selection *s)
{
    hs_json_key(json, "totals");
    hs_json_open(json, '{');
    hs_report_json_amount(json, "live", &s->live);
    hs_report_json_amount(json, "alloc", &s->alloc);
    if (s->has_peak) {
        hs_report_json_amount(json, "peak", &s->peak);
    }
    int err = write_overlap(json, s);
    hs_json_close(json, '}');
    return err;
}

int hs_report_write_json(struct hs_report *report)
{
    const struct hs_selection *s = &report->selection;
    struct hs_json json;
    hs_json_init(&json, report->buf, 2);
    hs_json_open(&json, '{');
    hs_json_kv_uint(&json, "format", FORMAT);
    hs_json_kv_string(&json, "generator", "heapscope " HS_VERSION);
    if (report->options->file) {
        hs_json_kv_string(&json, "file", report->options->file);
    }
    hs_json_kv_string(&json, "view", hs_views[report->view].name);
    if (report->view_reason) {
        hs_json_kv_string(&json, "view_reason", report->view_reason);
    }
    int err = write_totals(&json, s);
    hs_json_kv_bool(&json, "is_sampled", s->is_sampled);
    /* False when the file does not say how it was sampled, and when allocations are missing. */
    hs_json_kv_bool(&json, "is_exact",
                    s->interval_min_bytes == 1 && s->interval_max_bytes == 1 &&
                        !hs_report_is_incomplete(report) &&
                        (report->profile->origin || hs_report_is_from_start(report)));
    hs_json_kv_bool(&json, "is_incomplete", s->is_lossy);
    if (s->is_peak_of_all && s->has_peak) {
        hs_json_kv_bool(&json, "is_peak_of_all_heaps", true);
    }
    write_missing(&json, s);
    hs_json_kv_double(&json, "duration_seconds", seconds(s->start_ns, s->end_ns));
    hs_report_json_words(report, &json);
    err = err ? err : hs_report_json_heaps(s, &json);
    err = err ? err : hs_report_json_ledger(report, &json);
    err = err ? err : hs_report_json_mapped(report, &json);
    err = err ? err : hs_report_json_pins(report, &json);
    hs_json_key(&json, "processes");
    hs_json_open(&json, '[');
    for (uint32_t i = 0; i < s->dump_count && err == 0; i++) {
        err = write_process(report, &json, s->dumps[i]);
    }
    hs_json_close(&json, ']');
    err = err ? err : write_parts(report, &json);
    err = err ? err : hs_report_json_leaks(report, &json);
    err = err ? err : hs_report_json_lifetimes(report, &json);
    hs_report_json_counters(report, &json, HS_PROFILE_NO_PROCESS, s->start_ns);
    hs_report_json_refused(report, &json);
    write_cost(report->profile, &json);
    write_losses(report, &json);
    hs_report_json_cut_modules(report, &json);
    hs_report_json_nameless(report, &json);
    if (err < 0) {
        return err;
    }
    if (report->options->form == HS_REPORT_JSON_TREE) {
        err = hs_report_write_json_tree(report, &json);
    } else {
        write_functions(report, &json, HS_AGG_BY_SELF);
        write_functions(report, &json, HS_AGG_BY_TOTAL);
        err = write_stacks(report, &json);
    }
    hs_json_close(&json, '}');
    return err;
}
