/*
 * Which stacks the report is of: report --focus, --from, --hide. See report_parts.h.
 *
 *     Focus   stacks with a function that matches "ParseAuthorStyleSheet"
 *       1.90 MiB, 8.1 % of all. Shares are of all memory of the view.
 */
#include <string.h>

#include "util/json.h"
#include "util/utf8.h"
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

static bool has_filters(const struct hs_report *report)
{
    const struct hs_report_options *options = report->options;
    return options->focus_count + options->from_count + options->hide_count > 0;
}

/* Writes patterns, behind `lead` and with `between` from the second on. */
static void write_patterns(struct hs_buf *buf, const char *lead, const char *between,
                           const char *const *patterns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hs_buf_str(buf, i == 0 && buf->bytes > 0 ? "; " : "");
        hs_buf_printf(buf, "%s\"", i > 0 ? between : lead);
        hs_utf8_write(buf, patterns[i], strlen(patterns[i]));
        hs_buf_char(buf, '"');
    }
}

void hs_report_write_focus(struct hs_report *report)
{
    const struct hs_report_options *options = report->options;
    bool is_count = hs_views[report->view].is_count;
    const struct hs_amount amount = amount_of(report);
    struct hs_figure figure = hs_view_figure(report->view, &amount);
    double value = hs_report_value(report, &amount);
    char text[HS_FORMAT_INTERVAL_BYTES];
    struct hs_buf remark = HS_BUF_INIT, line = HS_BUF_INIT;
    if (!has_filters(report)) {
        return;
    }
    write_patterns(&remark, "stacks with a function that matches ", ", and one that matches ",
                   options->focus, options->focus_count);
    write_patterns(&remark, "stacks from a function on that matches ", " or ", options->from,
                   options->from_count);
    write_patterns(&remark, "without functions that match ", " or ", options->hide,
                   options->hide_count);
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

static void json_patterns(struct hs_json *json, const char *key, const char *const *patterns,
                          size_t count)
{
    hs_json_key(json, key);
    hs_json_open(json, '[');
    for (size_t i = 0; i < count; i++) {
        hs_json_string(json, patterns[i]);
    }
    hs_json_close(json, ']');
}

void hs_report_json_focus(const struct hs_report *report, struct hs_json *json)
{
    const struct hs_amount amount = amount_of(report);
    const struct hs_report_options *options = report->options;
    if (!has_filters(report)) {
        return;
    }
    hs_json_key(json, "focus");
    hs_json_open(json, '{');
    json_patterns(json, "patterns", options->focus, options->focus_count);
    if (options->from_count > 0) {
        json_patterns(json, "from", options->from, options->from_count);
    }
    if (options->hide_count > 0) {
        json_patterns(json, "hide", options->hide, options->hide_count);
    }
    hs_report_json_amount(json, "amount", &amount);
    hs_json_close(json, '}');
}
