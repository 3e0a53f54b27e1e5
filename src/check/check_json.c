/*
 * Writes verdicts as JSON. Keys are only added, never renamed; `format` counts the changes that
 * would break a reader. See check_view.h.
 */
#include <string.h>

#include "check/check_view.h"
#include "profile/analyse/heap_sums.h"

#define FORMAT 1

void hs_check_json_begin(struct hs_json *json, const struct hs_limits *limits)
{
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "format", FORMAT);
    hs_json_kv_string(json, "generator", "heapscope " HS_VERSION);
    hs_json_kv_bool(json, "is_strict", limits->is_strict);
    if (limits->against) {
        hs_json_kv_string(json, "against", limits->against);
    }
    hs_json_key(json, "files");
    hs_json_open(json, '[');
}

static void write_frame(struct hs_json *json, const struct hs_agg *agg,
                        const struct hs_agg_node *node)
{
    const struct hs_profile *p = agg->profile;
    const struct hs_agg_function *function = &agg->functions[node->function];
    struct hs_buf name = HS_BUF_INIT;
    hs_agg_write_function(agg, node->function, &name);
    hs_json_open_inline(json, '{');
    hs_json_kv_string(json, "function", hs_buf_text(&name));
    if (function->module < p->module_count) {
        hs_json_kv_string(json, "module", hs_profile_string(p, p->modules[function->module].path));
    }
    if (node->line < p->line_count && p->lines[node->line].file != 0) {
        hs_json_kv_string(json, "file", hs_profile_string(p, p->lines[node->line].file));
        hs_json_kv_uint(json, "line", p->lines[node->line].line);
    }
    hs_json_close(json, '}');
    hs_buf_deinit(&name);
}

static void write_stack(struct hs_json *json, const struct hs_check *check,
                        const struct hs_check_stack *stack)
{
    const struct hs_agg *agg = &check->lines;
    struct hs_figure figure = hs_figure_of(&stack->live, false);
    double low, high;
    struct hs_margin margin = hs_margin_of(&figure);
    low = figure.value - margin.below;
    high = figure.value + margin.above;
    hs_json_open(json, '{');
    hs_json_kv_double(json, "bytes", figure.value);
    hs_json_kv_double(json, "bytes_low", low);
    hs_json_kv_double(json, "bytes_high", high);
    hs_json_kv_double(json, "count", stack->live.count);
    figure = hs_figure_of(&stack->live, true);
    margin = hs_margin_of(&figure);
    hs_json_kv_double(json, "count_low", figure.value - margin.below);
    hs_json_kv_double(json, "count_high", figure.value + margin.above);
    hs_json_key(json, "frames"); /* innermost first */
    hs_json_open(json, '[');
    for (uint32_t n = stack->node; n != HS_NODE_NONE; n = agg->nodes[n].parent) {
        write_frame(json, agg, &agg->nodes[n]);
    }
    hs_json_close(json, ']');
    hs_json_close(json, '}');
}

static void write_row(struct hs_json *json, const struct hs_check *check,
                      const struct hs_check_row *row)
{
    hs_json_open(json, '{');
    hs_json_kv_string(json, "name", row->name);
    if (row->subject) {
        hs_json_kv_string(json, "regex", row->subject);
    }
    hs_json_kv_string(json, "verdict", hs_verdict_names[row->verdict]);
    hs_json_kv_bool(json, "is_kept", row->is_kept);
    if (row->verdict != HS_VERDICT_UNKNOWN) {
        hs_json_kv_string(json, "unit", row->is_count ? "objects" : "bytes");
        hs_json_kv_double(json, "limit", row->limit);
        if (row->limit_share > 0) {
            hs_json_kv_double(json, "limit_share", row->limit_share);
        }
        hs_json_kv_double(json, "value", row->value);
        hs_json_kv_double(json, "low", row->low);
        hs_json_kv_double(json, "high", row->high);
    }
    hs_json_kv_string(json, "text", row->text);
    if (row->stacks) {
        hs_json_kv_uint(json, "stack_count", (uint64_t)row->stack_count + row->more_count);
        hs_json_key(json, "stacks");
        hs_json_open(json, '[');
        for (uint32_t i = 0; i < row->stack_count; i++) {
            write_stack(json, check, &row->stacks[i]);
        }
        hs_json_close(json, ']');
    }
    hs_json_close(json, '}');
}

void hs_check_json_file(struct hs_json *json, const struct hs_check *check)
{
    hs_json_open(json, '{');
    hs_json_kv_string(json, "file", check->path);
    hs_json_kv_bool(json, "is_kept", check->is_kept);
    hs_json_kv_bool(json, "is_readable", check->is_readable);
    struct hs_buf heaps = HS_BUF_INIT;
    if (check->is_readable && hs_heap_sums_describe(&check->selection, &heaps) > 1) {
        hs_json_kv_string(json, "note", hs_buf_text(&heaps));
    }
    hs_buf_deinit(&heaps);
    hs_json_key(json, "limits");
    hs_json_open(json, '[');
    for (size_t i = 0; i < check->row_count; i++) {
        write_row(json, check, &check->rows[i]);
    }
    hs_json_close(json, ']');
    hs_json_close(json, '}');
}

void hs_check_json_end(struct hs_json *json, const struct hs_suppressions *suppressions,
                       int exit_status)
{
    hs_json_close(json, ']');
    hs_json_key(json, "suppressions");
    hs_json_open(json, '[');
    for (size_t i = 0; i < suppressions->count; i++) {
        const struct hs_suppression *s = &suppressions->items[i];
        hs_json_open_inline(json, '{');
        hs_json_kv_string(json, "pattern", s->pattern);
        hs_json_kv_string(json, "file", s->path);
        hs_json_kv_uint(json, "line", s->line);
        hs_json_kv_double(json, "count", s->count);
        hs_json_kv_double(json, "bytes", s->bytes);
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
    hs_json_kv_bool(json, "is_kept", exit_status == 0);
    hs_json_kv_uint(json, "exit_status", (uint64_t)exit_status);
    hs_json_close(json, '}');
}
