/*
 * Why functions of the report have no name: they are shown as MODULE+0xOFFSET. See report_parts.h.
 *
 *     No names   for functions shown as MODULE+0xOFFSET
 *       libjq.so.1: no symbol that was found covers them: install its debug symbols ...
 */
#include <string.h>

#include "profile/model/describe.h"
#include "rt/base.h"
#include "view/report_parts.h"

/* A function with a smaller share of the view is not worth a word. */
#define SHARE_MIN   0.01
#define MODULES_MAX 3

/* Why functions of this module have no name, and what helps. */
static const char *reason_of(const struct hs_profile *p, const struct hs_agg_function *function)
{
    const struct hs_profile_module *module = &p->modules[function->module];
    const char *path = hs_profile_string(p, module->path);
    if (function->kind == HS_FRAME_KIND_JIT || path[0] == '[' || path[0] == '\0') {
        return "code that was made at run time, for which the program wrote no perf map: heapscope "
               "doctor says which flag of its runtime helps";
    }
    return module->is_symbolized
               ? "no symbol that was found covers them, because the file is stripped: install its "
                 "debug symbols before recording, or name their folder in PERFETTO_BINARY_PATH"
               : "no symbols were found: the file is stripped, or it is not here any more; name "
                 "the "
                 "folder of its debug symbols in PERFETTO_BINARY_PATH";
}

void hs_report_write_nameless(struct hs_report *report)
{
    const struct hs_profile *p = report->profile;
    uint32_t modules[MODULES_MAX];
    uint32_t count = 0;
    double all = hs_report_value(report, &report->total);
    hs_agg_sort_functions(report->rows, report->row_count, report->view, HS_AGG_BY_TOTAL);
    for (uint32_t i = 0; i < report->row_count && count < MODULES_MAX; i++) {
        const struct hs_agg_function *function = &report->agg.functions[report->rows[i].function];
        bool is_large = hs_report_value(report, &report->rows[i].total) >= all * SHARE_MIN;
        uint32_t k = 0;
        while (k < count && modules[k] != function->module) {
            k++;
        }
        if (function->name != 0 || function->is_heap || !is_large || k < count ||
            function->kind == HS_FRAME_KIND_MARKER || function->module >= p->module_count) {
            continue;
        }
        struct hs_buf text = HS_BUF_INIT;
        if (count == 0) {
            hs_report_heading(report, "No names", "for functions shown as MODULE+0xOFFSET");
        }
        modules[count++] = function->module;
        hs_buf_printf(&text, "%s: %s.", hs_describe_module(p, function->module),
                      reason_of(p, function));
        hs_report_write_wrapped(report, "  ", hs_buf_text(&text));
        hs_buf_deinit(&text);
    }
}
