/*
 * Why functions of the report have no name: they are shown as MODULE+0xOFFSET. See report_parts.h.
 *
 *     No names   for functions shown as MODULE+0xOFFSET
 *       libjq.so.1: no symbol that was found covers them: install its debug symbols ...
 *       libz.so.1: the same
 *       Code that node made at run time: stacks with 12 % have functions of it without a name, ...
 */
#include <stdlib.h>
#include <string.h>

#include "profile/model/describe.h"
#include "profile/model/nameless_reason.h"
#include "rt/base.h"
#include "rt/text.h"
#include "util/jit_runtimes.h"
#include "util/json.h"
#include "view/report_parts.h"

/* A function with a smaller share of the view, and a runtime, is not worth a word. */
#define SHARE_MIN    0.01
#define MODULES_MAX  3
#define RUNTIMES_MAX 8

struct nameless {
    struct hs_report *report;
    double all; /* the value of 100 % */
    bool has_heading;
};

static void write(struct nameless *nameless, struct hs_buf *text)
{
    if (!nameless->has_heading) {
        hs_report_heading(nameless->report, "No names", "for functions shown as MODULE+0xOFFSET");
        nameless->has_heading = true;
    }
    hs_report_write_wrapped(nameless->report, "  ", hs_buf_text(text));
}

static bool is_made_at_run_time(const struct hs_profile *p, const struct hs_agg_function *function)
{
    const char *path = function->module < p->module_count
                           ? hs_profile_string(p, p->modules[function->module].path)
                           : "";
    return function->kind == HS_FRAME_KIND_JIT || path[0] == '[' || path[0] == '\0';
}

static bool is_nameless(const struct hs_profile *p, const struct hs_agg_function *function)
{
    return function->name == 0 && !function->is_heap && function->kind != HS_FRAME_KIND_MARKER &&
           function->module < p->module_count;
}

/* --- code of files ---------------------------------------------------------------------------- */

/* Writes why one module has no names; shortly, if the reason of another one is written already. */
static void write_module(struct nameless *nameless, const uint32_t *written, uint32_t written_count,
                         uint32_t module)
{
    const struct hs_profile *p = nameless->report->profile;
    const char *id = hs_profile_string(p, p->modules[module].build_id_hex);
    struct hs_buf text = HS_BUF_INIT;
    uint32_t k = 0;
    while (k < written_count &&
           !hs_nameless_has_same_reason(&p->modules[written[k]], &p->modules[module])) {
        k++;
    }
    hs_buf_printf(&text, "%s: ", hs_describe_module(p, module));
    if (k == written_count) {
        hs_nameless_write_reason(p, &p->modules[module], &text);
        hs_buf_char(&text, '.');
    } else {
        hs_buf_str(&text, "the same");
        if (id[0] != '\0') {
            hs_buf_printf(&text, " (Build ID: %s)", id);
        }
        hs_buf_char(&text, '.');
    }
    write(nameless, &text);
    hs_buf_deinit(&text);
}

static void write_modules(struct nameless *nameless)
{
    struct hs_report *report = nameless->report;
    const struct hs_profile *p = report->profile;
    uint32_t modules[MODULES_MAX];
    uint32_t count = 0;
    hs_agg_sort_functions(report->rows, report->row_count, report->view, HS_AGG_BY_TOTAL);
    for (uint32_t i = 0; i < report->row_count && count < MODULES_MAX; i++) {
        const struct hs_agg_function *function = &report->agg.functions[report->rows[i].function];
        double value = hs_report_value(report, &report->rows[i].total);
        uint32_t k = 0;
        while (k < count && modules[k] != function->module) {
            k++;
        }
        if (!is_nameless(p, function) || is_made_at_run_time(p, function) || k < count ||
            value < nameless->all * SHARE_MIN) {
            continue;
        }
        write_module(nameless, modules, count, function->module);
        modules[count++] = function->module;
    }
}

/* --- code made at run time -------------------------------------------------------------------- */

/* What the stacks with nameless code of one runtime hold. */
struct runtime_sum {
    const struct hs_jit_runtime *runtime; /* NULL: none that is known */
    double value;
};

static const struct hs_jit_runtime *find_runtime(const struct hs_profile *p, uint32_t process)
{
    const char *exe = hs_text_base_name(hs_profile_string(p, p->processes[process].exe));
    const struct hs_jit_runtime *runtime = hs_jit_runtime_find(exe, strlen(exe));
    for (uint32_t i = 0; i < p->place_count && !runtime; i++) {
        if (p->places[i].process == process) {
            const char *file = hs_describe_module(p, p->places[i].module);
            runtime = hs_jit_runtime_find(file, strlen(file));
        }
    }
    return runtime;
}

/* For each node, whether its stack contains nameless code that was made at run time. NULL: none
 * does, or memory is short. */
static bool *find_nodes(const struct hs_report *report)
{
    const struct hs_agg *agg = &report->agg;
    bool has_any = false;
    bool *is_made = calloc(agg->node_count + 1u, sizeof(*is_made));
    for (uint32_t i = 0; is_made && i < agg->node_count; i++) {
        const struct hs_agg_node *node = &agg->nodes[i]; /* its parent has a smaller index */
        const struct hs_agg_function *function = &agg->functions[node->function];
        is_made[i] = (node->parent != HS_NODE_NONE && is_made[node->parent]) ||
                     (is_nameless(report->profile, function) &&
                      is_made_at_run_time(report->profile, function));
        has_any |= is_made[i];
    }
    if (!has_any) {
        free(is_made);
        is_made = NULL;
    }
    return is_made;
}

/* Adds a process's stacks to the sum of its runtime. */
static void add_dump(const struct hs_report *report, const bool *is_made, uint32_t d, size_t at,
                     struct runtime_sum *sums, uint32_t *count)
{
    const struct hs_profile *p = report->profile;
    const struct hs_profile_dump *dump = &p->dumps[report->selection.dumps[d]];
    double value = 0;
    for (uint32_t i = 0; i < dump->samples_n; i++) {
        const struct hs_profile_sample *sample = &p->samples[dump->sample_first + i];
        const struct hs_amount parts[HS_QUANTITY_N] = { [HS_QUANTITY_LIVE] = sample->live,
                                                        [HS_QUANTITY_ALLOC] = sample->alloc,
                                                        [HS_QUANTITY_PEAK] = sample->peak };
        if (is_made[report->agg.sample_nodes[at + i]]) {
            value += hs_report_value(report, &parts[hs_views[report->view].quantity]);
        }
    }
    const struct hs_jit_runtime *runtime = value > 0 ? find_runtime(p, dump->process) : NULL;
    uint32_t k = 0;
    while (k < *count &&
           !(sums[k].runtime == runtime ||
             (sums[k].runtime && runtime && strcmp(sums[k].runtime->name, runtime->name) == 0))) {
        k++;
    }
    if (value > 0 && k < RUNTIMES_MAX) {
        sums[k] = (struct runtime_sum){ runtime, value + (k < *count ? sums[k].value : 0) };
        *count += k == *count;
    }
}

static void write_runtime(struct nameless *nameless, const struct runtime_sum *sum)
{
    char share[HS_HUMAN_BYTES];
    struct hs_buf text = HS_BUF_INIT;
    if (sum->value < nameless->all * SHARE_MIN) {
        return;
    }
    hs_human_share(share, sum->value, nameless->all);
    const struct hs_jit_runtime *runtime = sum->runtime;
    hs_buf_printf(&text,
                  "Code that %s made at run time: stacks with %s have functions of it without a "
                  "name, because no perf map that heapscope may read lists them.",
                  runtime ? runtime->name : "the program", share);
    if (runtime && runtime->named) {
        hs_buf_printf(&text, " (Apart from that, %s have names.)", runtime->named);
    }
    hs_buf_printf(&text, " What helps: %s.", runtime ? runtime->remedy : HS_JIT_REMEDY_ANY);
    write(nameless, &text);
    hs_buf_deinit(&text);
}

static void write_runtimes(struct nameless *nameless)
{
    const struct hs_report *report = nameless->report;
    struct runtime_sum sums[RUNTIMES_MAX];
    uint32_t count = 0;
    size_t at = 0;
    bool *is_made = find_nodes(report);
    for (uint32_t d = 0; is_made && d < report->selection.dump_count; d++) {
        add_dump(report, is_made, d, at, sums, &count);
        at += report->profile->dumps[report->selection.dumps[d]].samples_n;
    }
    for (uint32_t k = 0; k < count; k++) {
        write_runtime(nameless, &sums[k]);
    }
    free(is_made);
}

void hs_report_write_nameless(struct hs_report *report)
{
    struct nameless nameless = { .report = report, .all = hs_report_value(report, &report->total) };
    if (nameless.all > 0) {
        write_modules(&nameless);
        write_runtimes(&nameless);
    }
}

void hs_report_json_nameless(struct hs_report *report, struct hs_json *json)
{
    const struct hs_profile *p = report->profile;
    hs_json_key(json, "missing_names");
    if (!p->has_looked_up) {
        hs_json_null(json);
        return;
    }
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "module_count", p->looked_up_module_count);
    hs_json_key(json, "modules");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < p->nameless_count; i++) {
        const struct hs_profile_nameless *one = &p->nameless[i];
        hs_json_open_inline(json, '{');
        hs_json_kv_string(json, "module", hs_profile_string(p, one->path));
        hs_json_kv_string(json, "build_id", hs_profile_string(p, one->build_id_hex));
        hs_json_kv_string(json, "reason", hs_nameless_reason_name(one->reason));
        hs_json_kv_string(json, "text", hs_nameless_reason_text(one->reason));
        hs_json_kv_string(json, "detail", hs_profile_string(p, one->detail));
        hs_json_kv_uint(json, "nameless_count", one->nameless_count);
        hs_json_kv_uint(json, "address_count", one->address_count);
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
    hs_json_close(json, '}');
}
