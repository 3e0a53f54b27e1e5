/* The modules in which stacks end that should go on: why, and what to do. See report_parts.h. */
#include <stdlib.h>
#include <string.h>

#include "profile/model/cut_modules.h"
#include "util/array.h"
#include "util/human.h"
#include "util/json.h"
#include "view/report_parts.h"

/* The same module and reason in several processes is one row. */
static int compare_kinds(const void *a, const void *b)
{
    const struct hs_profile_cut_module *left = a, *right = b;
    int order = (left->module > right->module) - (left->module < right->module);
    return order ? order : (left->reason > right->reason) - (left->reason < right->reason);
}

static void add(void *sum, void *item)
{
    struct hs_profile_cut_module *to = sum;
    const struct hs_profile_cut_module *from = item;
    to->stack_count += from->stack_count;
    to->alloc_bytes += from->alloc_bytes;
    to->alloc_count += from->alloc_count;
    to->live_bytes += from->live_bytes;
}

static int compare_sizes(const void *a, const void *b)
{
    const struct hs_profile_cut_module *left = a, *right = b;
    int order = (left->alloc_bytes < right->alloc_bytes) - (left->alloc_bytes > right->alloc_bytes);
    return order ? order : compare_kinds(a, b);
}

/* Those of the selected processes, the largest first. The caller frees them. */
static struct hs_profile_cut_module *add_up(const struct hs_report *report, size_t *ret_count)
{
    const struct hs_profile *p = report->profile;
    struct hs_profile_cut_module *sums = calloc(p->cut_module_count + 1u, sizeof(*sums));
    size_t count = 0;
    for (uint32_t i = 0; sums && i < p->cut_module_count; i++) {
        const struct hs_profile_cut_module *cut = &p->cut_modules[i];
        if (cut->process < p->process_count && report->selection.has_process[cut->process]) {
            sums[count++] = *cut;
        }
    }
    if (count > 0) {
        count = hs_array_merge(sums, count, sizeof(*sums), compare_kinds, add);
        qsort(sums, count, sizeof(*sums), compare_sizes);
    }
    *ret_count = count;
    return sums;
}

static void write_one(struct hs_report *report, const struct hs_profile_cut_module *cut)
{
    char live[HS_HUMAN_BYTES], alloc[HS_HUMAN_BYTES], count[HS_HUMAN_BYTES];
    const char *path = hs_profile_string(report->profile, cut->module);
    const char *name = strrchr(path, '/');
    struct hs_buf line = HS_BUF_INIT, remedy = HS_BUF_INIT;
    hs_cut_write_remedy(cut->reason, path, &remedy);
    hs_buf_printf(&line, "Stacks end in %s (%s allocated, %s live, %s stack%s): %s",
                  name ? name + 1 : path, hs_human_bytes(alloc, cut->alloc_bytes),
                  hs_human_bytes(live, cut->live_bytes), hs_human_exact(count, cut->stack_count),
                  cut->stack_count == 1 ? "" : "s", hs_cut_reason_text(cut->reason));
    if (remedy.bytes > 0) {
        hs_buf_printf(&line, "; %s", hs_buf_text(&remedy));
    }
    hs_text_style(report->buf, report->options->has_colour, HS_TEXT_DIM);
    hs_report_write_wrapped(report, "  ", hs_buf_text(&line));
    hs_text_style(report->buf, report->options->has_colour, HS_TEXT_PLAIN);
    hs_buf_deinit(&remedy);
    hs_buf_deinit(&line);
}

void hs_report_write_cut_modules(struct hs_report *report, uint32_t max)
{
    size_t count;
    struct hs_profile_cut_module *sums = add_up(report, &count);
    for (size_t i = 0; sums && i < count && i < max; i++) {
        write_one(report, &sums[i]);
    }
    if (sums && count > max && !report->words) {
        struct hs_buf line = HS_BUF_INIT;
        hs_buf_printf(&line, "--health shows %zu more module%s in which stacks end", count - max,
                      count - max == 1 ? "" : "s");
        hs_report_write_wrapped(report, "  ", hs_buf_text(&line));
        hs_buf_deinit(&line);
    }
    free(sums);
}

void hs_report_json_cut_modules(struct hs_report *report, struct hs_json *json)
{
    const struct hs_profile *p = report->profile;
    hs_json_key(json, "cut_modules");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < p->cut_module_count; i++) {
        const struct hs_profile_cut_module *cut = &p->cut_modules[i];
        if (cut->process >= p->process_count || !report->selection.has_process[cut->process]) {
            continue;
        }
        const char *path = hs_profile_string(p, cut->module);
        struct hs_buf remedy = HS_BUF_INIT;
        hs_cut_write_remedy(cut->reason, path, &remedy);
        hs_json_open_inline(json, '{');
        hs_json_kv_uint(json, "pid", p->processes[cut->process].pid);
        hs_json_kv_string(json, "module", path);
        hs_json_kv_string(json, "reason", hs_cut_reason_name(cut->reason));
        hs_json_kv_string(json, "text", hs_cut_reason_text(cut->reason));
        hs_json_kv_string(json, "remedy", hs_buf_text(&remedy));
        hs_json_kv_uint(json, "stacks", cut->stack_count);
        hs_json_kv_double(json, "alloc_bytes", cut->alloc_bytes);
        hs_json_kv_double(json, "allocations", cut->alloc_count);
        hs_json_kv_double(json, "live_bytes", cut->live_bytes);
        hs_json_close(json, '}');
        hs_buf_deinit(&remedy);
    }
    hs_json_close(json, ']');
}
