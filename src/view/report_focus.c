/*
 * Which stacks the report is of: report --focus, --from, --hide. See report_parts.h.
 *
 *     Focus   stacks with a function that matches "ParseAuthorStyleSheet"
 *       1.90 MiB, 8.1 % of all. Shares are of all memory of the view.
 */
#include "util/json.h"
#include "view/report_parts.h"

/* What the stacks have that were kept. */
static struct hs_amount amount_of(const struct hs_report *report)
{
    struct hs_amount sum = { 0 };
    for (uint32_t i = 0; i < report->agg.self_count; i++) {
        hs_amount_add(&sum, &report->agg.selves[i].by[hs_views[report->view].quantity]);
    }
    return sum;
}

void hs_report_write_focus(struct hs_report *report)
{
    bool is_count = hs_views[report->view].is_count;
    const struct hs_amount amount = amount_of(report);
    struct hs_figure figure = hs_view_figure(report->view, &amount);
    double value = hs_report_value(report, &amount);
    char text[HS_FORMAT_INTERVAL_BYTES];
    struct hs_buf remark = HS_BUF_INIT, line = HS_BUF_INIT;
    if (!hs_filter_words_is_any(&report->options->filters)) {
        return;
    }
    hs_filter_words_write(&report->options->filters, &remark);
    hs_report_heading(report, "Focus", hs_buf_text(&remark));
    hs_buf_deinit(&remark);
    hs_buf_str(&line, hs_format_value(text, is_count, value));
    hs_report_margin(report, text, is_count, &figure);
    hs_buf_printf(&line, "%s%s%s, ", text[0] ? " " : "", text, is_count ? " objects" : "");
    hs_human_share(text, value, hs_report_value(report, &report->total));
    hs_buf_printf(&line, "%s of the %s. Shares are of all of it.", text,
                  hs_view_title(report->view, report->selection.is_peak_of_several));
    hs_report_write_wrapped(report, "  ",
                            report->agg.self_count > 0 ? hs_buf_text(&line) : "No stack matches.");
    hs_buf_deinit(&line);
}

void hs_report_json_focus(const struct hs_report *report, struct hs_json *json)
{
    const struct hs_amount amount = amount_of(report);
    if (!hs_filter_words_is_any(&report->options->filters)) {
        return;
    }
    hs_json_key(json, "focus");
    hs_json_open(json, '{');
    hs_filter_words_json(&report->options->filters, json);
    hs_report_json_amount(json, "amount", &amount);
    hs_json_close(json, '}');
}
