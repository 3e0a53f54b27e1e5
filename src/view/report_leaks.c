/*
 * The part of the report that says which stacks leak. See report_parts.h.
 *
 *     Leaks   blocks that are not freed while new ones keep coming
 *
 *         1   12.4 MiB/h ± 0.8 MiB/h   99.9 % sure   3.10 MiB in ≈ 31,400 objects
 *             ...
 *
 * Growth is stated by second, minute or hour: see rate_unit.h.
 */
#include <stdio.h>
#include <string.h>

#include "profile/analyse/leak_score.h"
#include "util/json.h"
#include "util/rate_unit.h"
#include "view/report_parts.h"

#define SECONDS_PER_HOUR 3600.0
#define NONE_IS_CERTAIN  "No leak is certain."

/* What the stacks of one verdict hold together. */
struct group {
    uint32_t count;
    double bytes, growth; /* growth: bytes an hour */
};

static void count_groups(const struct hs_leaks *leaks, struct group groups[HS_LEAK_VERDICT_N])
{
    for (uint32_t i = 0; i < leaks->count; i++) {
        struct group *group = &groups[leaks->rows[i].verdict];
        group->count++;
        group->bytes += leaks->rows[i].live.bytes;
        group->growth += leaks->rows[i].growth;
    }
}

/* --- text ------------------------------------------------------------------------------------- */

static const char *write_age(char out[HS_HUMAN_BYTES], uint64_t ms)
{
    return hs_human_duration(out, ms * UINT64_C(1000000));
}

/* The unit of the rates of growth, which the rows have as bytes an hour. */
static const struct hs_rate_unit *unit_of(const struct hs_leaks *leaks)
{
    return hs_rate_unit_of((double)leaks->span_ms / 1000);
}

static double in_unit(const struct hs_rate_unit *unit, double bytes_per_hour)
{
    return bytes_per_hour * unit->seconds / SECONDS_PER_HOUR;
}

static void write_row(struct hs_report *report, uint32_t rank, const struct hs_leak_row *row,
                      const struct hs_rate_unit *unit)
{
    char growth[HS_HUMAN_BYTES], margin[HS_HUMAN_BYTES], live[HS_FORMAT_INTERVAL_BYTES];
    char count[HS_HUMAN_BYTES], age[HS_HUMAN_BYTES], confidence[HS_FORMAT_INTERVAL_BYTES];
    struct hs_buf line = HS_BUF_INIT;
    hs_human_bytes(growth, in_unit(unit, row->growth));
    hs_human_bytes(margin, in_unit(unit, row->growth_margin));
    hs_format_value(live, false, row->live.bytes);
    hs_human_count(count, row->live.count);
    hs_buf_printf(report->buf, "%s  %3u   ", rank > 1 ? "\n" : "", rank);
    hs_text_style(report->buf, report->options->has_colour, HS_TEXT_BOLD);
    hs_buf_printf(report->buf, "%s%s", growth, unit->sign);
    hs_text_style(report->buf, report->options->has_colour, HS_TEXT_PLAIN);
    hs_buf_printf(&line, " ± %s%s   %s sure   %s live in %s object%s", margin, unit->sign,
                  hs_format_confidence(confidence, row->confidence, "more than "), live, count,
                  row->live.count < 1.5 ? "" : "s");
    if (row->oldest_ms > 0) {
        hs_buf_printf(&line, ", the oldest %s old", write_age(age, row->oldest_ms));
    }
    hs_buf_str(report->buf, hs_buf_text(&line));
    hs_buf_char(report->buf, '\n');
    hs_buf_deinit(&line);
    hs_report_write_frames(report, row->node);
}

/* Lists the rows of a verdict, which stand together. */
static void write_rows(struct hs_report *report, const struct hs_leaks *leaks,
                       enum hs_leak_verdict verdict, const char *title, const char *what)
{
    uint32_t first = 0, count = 0;
    for (; first < leaks->count && leaks->rows[first].verdict != verdict; first++) {
    }
    for (; first + count < leaks->count && leaks->rows[first + count].verdict == verdict; count++) {
    }
    uint32_t limit = report->options->stack_count;
    uint32_t listed = count < limit ? count : limit;
    char remark[160];
    if (count == 0) {
        return;
    }
    snprintf(remark, sizeof(remark), listed < count ? "%s; the %u fastest of %u" : "%s", what,
             listed, count);
    hs_report_heading(report, title, remark);
    for (uint32_t i = 0; i < listed; i++) {
        write_row(report, i + 1, &leaks->rows[first + i], unit_of(leaks));
    }
}

static void add_group(struct hs_buf *text, const struct group *group, const char *one,
                      const char *several)
{
    char size[HS_HUMAN_BYTES];
    if (group->count > 0) {
        hs_buf_printf(text, "%s%u stack%s with %s %s", text->bytes > 0 ? "; " : "", group->count,
                      group->count == 1 ? "" : "s", hs_human_bytes(size, group->bytes),
                      group->count == 1 ? one : several);
    }
}

static void add_too_short(const struct hs_leaks *leaks, struct hs_buf *text)
{
    char span[HS_HUMAN_BYTES];
    hs_buf_printf(text, "The recording of %s is too short to tell what leaks.",
                  write_age(span, leaks->span_ms));
}

/* Adds what was compared. */
static void add_comparison(const struct hs_leaks *leaks, struct hs_buf *text)
{
    char span[HS_HUMAN_BYTES];
    write_age(span, leaks->span_ms);
    if (leaks->is_short) {
        add_too_short(leaks, text);
    } else if (leaks->earlier_dump_count == 0) {
        hs_buf_printf(text,
                      "There is one snapshot, after %s. Snapshots in between (--dump-every) would "
                      "show which blocks were freed.",
                      span);
    } else {
        hs_buf_printf(text, "The snapshot after %s was compared with %u earlier one%s.", span,
                      leaks->earlier_dump_count, leaks->earlier_dump_count == 1 ? "" : "s");
    }
    hs_buf_str(text, " A cache that has not reached its limit grows like a leak.");
}

/* Adds how many stacks leak, and how fast. */
static void add_answer(const struct hs_leaks *leaks, struct hs_buf *text)
{
    struct group groups[HS_LEAK_VERDICT_N] = { 0 };
    const struct group *found = &groups[HS_LEAK_LEAKS];
    const struct hs_rate_unit *unit = unit_of(leaks);
    char count[HS_HUMAN_BYTES], growth[HS_HUMAN_BYTES], live[HS_HUMAN_BYTES];
    count_groups(leaks, groups);
    if (leaks->is_short) {
        add_too_short(leaks, text);
        return;
    }
    if (found->count == 0) {
        hs_buf_str(text, NONE_IS_CERTAIN);
        return;
    }
    hs_buf_printf(text, "%s %s, %s %s. %s %s now.", hs_human_count(count, found->count),
                  found->count == 1 ? "stack leaks" : "stacks leak",
                  hs_human_bytes(growth, in_unit(unit, found->growth)), unit->words,
                  found->count == 1 ? "It holds" : "They hold", hs_human_bytes(live, found->bytes));
}

/* What was compared, and what does not leak. */
static void write_words(struct hs_report *report, const struct hs_leaks *leaks)
{
    struct group groups[HS_LEAK_VERDICT_N] = { 0 };
    struct hs_buf text = HS_BUF_INIT;
    count_groups(leaks, groups);
    add_group(&text, &groups[HS_LEAK_REPLACED],
              "frees old blocks as new ones come, as caches and queues do",
              "free old blocks as new ones come, as caches and queues do");
    add_group(&text, &groups[HS_LEAK_STOPPED], "does not grow, or no longer",
              "do not grow, or no longer");
    if (text.bytes > 0) {
        hs_buf_char(&text, '.');
        hs_report_heading(report, "No leaks", "");
        hs_report_write_wrapped(report, "  ", hs_buf_text(&text));
    }
    hs_buf_clear(&text);
    add_comparison(leaks, &text);
    hs_buf_char(report->buf, '\n');
    hs_report_write_wrapped(report, "  ", hs_buf_text(&text));
    hs_buf_deinit(&text);
}

int hs_report_write_leaks(struct hs_report *report)
{
    struct hs_leaks leaks;
    int r = hs_leaks_find(&report->selection, &report->agg, &leaks);
    if (r < 0) {
        return r;
    }
    if (leaks.count == 0 || leaks.rows[0].verdict != HS_LEAK_LEAKS) {
        hs_report_heading(report, "Leaks", "");
        hs_buf_str(report->buf, "  " NONE_IS_CERTAIN "\n");
    }
    write_rows(report, &leaks, HS_LEAK_LEAKS, "Leaks",
               "blocks that are not freed while new ones keep coming");
    write_rows(report, &leaks, HS_LEAK_UNSURE, "Growing, but maybe no leaks",
               "too few blocks or samples to be sure");
    write_words(report, &leaks);
    hs_leaks_deinit(&leaks);
    return 0;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void write_json_row(const struct hs_report *report, struct hs_json *json,
                           const struct hs_leak_row *row)
{
    hs_json_open(json, '{');
    hs_json_kv_string(json, "verdict", hs_leak_verdict_names[row->verdict]);
    hs_json_kv_double(json, "confidence", row->confidence);
    hs_json_kv_double(json, "growth_bytes_per_hour", row->growth);
    hs_json_kv_double(json, "growth_low_bytes_per_hour", row->growth - row->growth_margin);
    hs_json_kv_double(json, "growth_high_bytes_per_hour", row->growth + row->growth_margin);
    hs_report_json_amount(json, "live", &row->live);
    hs_report_json_amount(json, "alloc", &row->alloc);
    hs_json_kv_double(json, "oldest_seconds", (double)row->oldest_ms / 1000);
    hs_json_key(json, "live_bytes_by_eighth");
    hs_json_open_inline(json, '[');
    for (unsigned i = 0; i < HS_LEAK_EIGHTHS; i++) {
        hs_json_double(json, row->eighths[i].bytes);
    }
    hs_json_close(json, ']');
    hs_report_json_frames(report, json, row->node);
    hs_json_close(json, '}');
}

static void write_json_words(const struct hs_leaks *leaks, struct hs_json *json)
{
    struct hs_buf text = HS_BUF_INIT;
    add_answer(leaks, &text);
    hs_json_kv_string(json, "answer", hs_buf_text(&text));
    hs_buf_clear(&text);
    add_comparison(leaks, &text);
    hs_json_kv_string(json, "comparison", hs_buf_text(&text));
    hs_buf_deinit(&text);
}

int hs_report_json_leaks(const struct hs_report *report, struct hs_json *json)
{
    struct hs_leaks leaks;
    if (!report->options->has_leaks) {
        return 0;
    }
    int r = hs_leaks_find(&report->selection, &report->agg, &leaks);
    if (r < 0) {
        return r;
    }
    hs_json_key(json, "leaks");
    hs_json_open(json, '{');
    hs_json_kv_double(json, "span_seconds", (double)leaks.span_ms / 1000);
    hs_json_kv_uint(json, "earlier_snapshot_count", leaks.earlier_dump_count);
    hs_json_kv_bool(json, "is_too_short", leaks.is_short);
    write_json_words(&leaks, json);
    hs_json_key(json, "stacks");
    hs_json_open(json, '[');
    uint32_t most = report->options->leak_count > 0 ? report->options->leak_count
                                                    : report->options->stack_count;
    for (uint32_t i = 0; i < leaks.count && i < most; i++) {
        write_json_row(report, json, &leaks.rows[i]);
    }
    hs_json_close(json, ']');
    hs_json_close(json, '}');
    hs_leaks_deinit(&leaks);
    return 0;
}
