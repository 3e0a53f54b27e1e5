/* Writes a trend as JSON. Keys are only added, never renamed. See trend_view.h. */
#include <stdlib.h>

#include "profile/analyse/heap_sums.h"
#include "profile/model/describe.h"
#include "util/json.h"
#include "view/trend_lines.h"
#include "view/trend_view.h"

#define FORMAT 1

static void write_frames(const struct hs_trend *trend, uint32_t stack, struct hs_json *json)
{
    hs_json_key(json, "frames"); /* innermost first */
    hs_json_open(json, '[');
    for (uint32_t n = stack; n != HS_NODE_NONE; n = trend->stacks[n].parent) {
        hs_json_string(json, hs_trend_name(trend, trend->stacks[n].function));
    }
    hs_json_close(json, ']');
}

static int write_rows(const struct hs_trend *trend, bool is_functions, uint32_t most,
                      struct hs_json *json)
{
    const struct hs_trend_row *rows = is_functions ? trend->functions : trend->stacks;
    uint32_t *order = NULL;
    uint32_t count = 0;
    int err = hs_trend_sort(rows, is_functions ? trend->function_count : trend->stack_count, &order,
                            &count);
    hs_json_key(json, is_functions ? "functions" : "stacks");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < count && (most == 0 || i < most); i++) {
        hs_json_open(json, '{');
        if (is_functions) {
            hs_json_kv_string(json, "function", hs_trend_name(trend, order[i]));
        }
        hs_trend_json_line(&rows[order[i]].line, json);
        hs_json_kv_double(json, "leak_confidence", rows[order[i]].leak_confidence);
        if (!is_functions) {
            write_frames(trend, order[i], json);
        }
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
    free(order);
    return err;
}

int hs_trend_write_json(const struct hs_trend *trend, const struct hs_trend_options *options,
                        struct hs_buf *buf)
{
    struct hs_json json;
    struct hs_buf name = HS_BUF_INIT;
    hs_describe_process(options->profile, trend->process, &name);
    hs_json_init(&json, buf, 1);
    hs_json_open(&json, '{');
    hs_json_kv_uint(&json, "format", FORMAT);
    hs_json_kv_string(&json, "view", hs_views[trend->view].name);
    hs_json_kv_string(&json, "unit", hs_views[trend->view].is_count ? "objects" : "bytes");
    hs_json_kv_string(&json, "file", options->name);
    if (hs_filter_words_is_any(&options->filters)) {
        hs_json_key(&json, "focus");
        hs_json_open(&json, '{');
        hs_filter_words_json(&options->filters, &json);
        hs_json_close(&json, '}');
    }
    hs_json_kv_uint(&json, "pid", options->profile->processes[trend->process].pid);
    hs_json_kv_string(&json, "name", hs_buf_text(&name));
    hs_json_kv_uint(&json, "snapshots", trend->dump_count);
    hs_json_kv_uint(&json, "snapshots_left_out", trend->dump_left_out_count);
    hs_json_kv_double(&json, "seconds", trend->seconds);
    struct hs_buf heaps = HS_BUF_INIT;
    hs_heap_sums_describe_process(options->profile, trend->process, &heaps);
    if (heaps.bytes > 0) {
        hs_json_kv_string(&json, "heaps", hs_buf_text(&heaps));
    }
    hs_buf_deinit(&heaps);
    hs_json_key(&json, "total");
    hs_json_open_inline(&json, '{');
    hs_trend_json_line(&trend->total, &json);
    hs_json_close(&json, '}');
    if (options->rss) {
        hs_trend_json_resident(options->rss, &json);
    }
    int err = name.err ? name.err : write_rows(trend, true, options->json_count, &json);
    err = err ? err : write_rows(trend, false, options->json_count, &json);
    hs_json_close(&json, '}');
    hs_buf_char(buf, '\n');
    hs_buf_deinit(&name);
    return err ? err : buf->err;
}
