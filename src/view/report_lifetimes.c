/*
 * How long the blocks that were freed had lived: report --lifetimes.
 *
 *     Lifetimes by stack   temporary: freed with no other allocation of the thread in between
 *        freed   mean lifetime     temporary             lived 1 s   1 min   1 h
 *       12,400   4.1 ms            12,400   100 %        0 %         0 %     0 %   parse < main
 *          300   2.3 s ± 0.1 s          0                82.1 %      -       -     load < main
 */
#include <errno.h>
#include <stdio.h>

#include "profile/analyse/lifetime_sums.h"
#include "rt/base.h"
#include "util/json.h"
#include "view/report_parts.h"

#define NS_PER_MS 1e6
/* A margin that would not show in the rounded percentage is left out. */
#define SHARE_SHOWN 0.0005

static char *format_ms(char *out, double ms)
{
    if (ms < 1e-3) {
        snprintf(out, 16, "0 ms");
        return out;
    }
    return hs_human_duration(out, ms < 1e12 ? (uint64_t)(ms * NS_PER_MS) : UINT64_MAX / 2);
}

/* "4.1 s", "41 ms (31 ms to 51 ms)", "under 12 ms" */
static void write_mean(const struct hs_report *report, const struct hs_lifetime_row *row,
                       struct hs_buf *buf)
{
    struct hs_mean_lifetime mean = hs_lifetime_mean(row);
    char text[64];
    if (!mean.is_known) {
        hs_buf_str(buf, row->freed.count > 0 ? "unknown" : "-");
        return;
    }
    if (mean.high_ms < 2 * HS_LIFETIME_RESOLUTION_MS) {
        hs_buf_printf(buf, "under %s", format_ms(text, mean.high_ms));
        return;
    }
    hs_buf_str(buf, format_ms(text, mean.mean_ms));
    if (mean.high_ms - mean.low_ms > 0.01 * mean.mean_ms && !hs_report_is_incomplete(report)) {
        hs_buf_printf(buf, " (%s to ", format_ms(text, mean.low_ms));
        hs_buf_printf(buf, "%s)", format_ms(text, mean.high_ms));
    }
}

/* "82.1 %", "82.1 % (79.0 to 85.0)"; "-": no block was watched for so long */
static void write_survival(const struct hs_report *report, const struct hs_survival *survival,
                           struct hs_buf *buf)
{
    char text[64];
    if (!survival->is_known) {
        hs_buf_char(buf, '-');
        return;
    }
    hs_buf_str(buf, survival->share <= 0 ? "0 %" : hs_human_share(text, survival->share, 1));
    if (survival->high - survival->low > SHARE_SHOWN && !hs_report_is_incomplete(report)) {
        hs_buf_printf(buf, " (%.1f to %.1f)", survival->low * 100, survival->high * 100);
    }
}

static void add_count(const struct hs_report *report, struct hs_table *table,
                      const struct hs_amount *amount)
{
    char text[HS_FORMAT_INTERVAL_BYTES];
    struct hs_figure figure = hs_figure_of(amount, true);
    hs_table_cell(table, "%s", hs_human_count(text, amount->count));
    hs_table_cell(table, "%s", hs_report_margin(report, text, true, &figure));
}

static void add_row(const struct hs_report *report, struct hs_table *table,
                    const struct hs_lifetime_row *row, const char *name)
{
    struct hs_buf cell = HS_BUF_INIT;
    char text[64];
    hs_table_cell(table, "%s", hs_human_bytes(text, row->alloc.bytes));
    add_count(report, table, &row->freed);
    write_mean(report, row, &cell);
    hs_table_cell(table, "%s", hs_buf_text(&cell));
    add_count(report, table, &row->temporary);
    hs_table_cell(table, "%s",
                  row->temporary.count > 0
                      ? hs_human_share(text, row->temporary.count, row->freed.count)
                      : "");
    for (unsigned i = 0; i < HS_SURVIVAL_TIMES; i++) {
        struct hs_survival survival = hs_lifetime_survival(row, i);
        hs_buf_deinit(&cell);
        cell = (struct hs_buf)HS_BUF_INIT;
        write_survival(report, &survival, &cell);
        hs_table_cell(table, "%s", hs_buf_text(&cell));
    }
    hs_table_cell(table, "%s", name);
    hs_buf_deinit(&cell);
}

/* "no other allocation", "at most 3 other allocations" */
static const char *between_words(char *out, size_t bytes, uint32_t between_count)
{
    snprintf(out, bytes, between_count == 0 ? "no other allocation%s" : "at most %s%u other %s", "",
             between_count, between_count == 1 ? "allocation" : "allocations");
    return out;
}

static void list(struct hs_report *report, const struct hs_lifetime_sums *sums)
{
    static const struct hs_table_column columns[] = {
        { "allocated", HS_TABLE_RIGHT },
        { "blocks freed", HS_TABLE_RIGHT },
        { "", HS_TABLE_LEFT },
        { "mean lifetime", HS_TABLE_RIGHT },
        { "temporary", HS_TABLE_RIGHT },
        { "", HS_TABLE_LEFT },
        { "", HS_TABLE_RIGHT },
        { "lived 1 s", HS_TABLE_RIGHT },
        { "1 min", HS_TABLE_RIGHT },
        { "1 h", HS_TABLE_RIGHT },
        { "allocated by", HS_TABLE_TEXT },
    };
    struct hs_table table;
    uint32_t top_count = report->options->top_count;
    hs_table_init(&table, columns, HS_COUNT_OF(columns));
    add_row(report, &table, &sums->total, "(all)");
    for (uint32_t i = 0; i < sums->count && i < top_count; i++) {
        struct hs_buf name = HS_BUF_INIT;
        hs_report_write_stack_line(report, sums->rows[i].node, &name);
        add_row(report, &table, &sums->rows[i], hs_buf_text(&name));
        hs_buf_deinit(&name);
    }
    hs_report_write_table(report, &table, "2 5 0 6");
    if (sums->count > top_count) {
        hs_buf_printf(report->buf, "  … %u more; --top all shows them\n", sums->count - top_count);
    }
}

int hs_report_write_lifetimes(struct hs_report *report)
{
    struct hs_lifetime_sums sums;
    uint32_t between_count = report->options->between_count;
    int r = hs_lifetime_sums_build(&report->selection, &report->agg, between_count, &sums);
    if (r == 0) {
        char words[64], remark[160];
        snprintf(remark, sizeof(remark),
                 "temporary: freed by its thread with %s from malloc in between",
                 between_words(words, sizeof(words), between_count));
        hs_report_heading(report, "Lifetimes by stack", remark);
        list(report, &sums);
        if (sums.total.unknown.count >= 1) {
            char count[64];
            hs_buf_printf(report->buf,
                          "  The lifetimes of %s freed blocks are unknown; they are in no mean and "
                          "in no share of survivors.\n",
                          hs_human_count(count, sums.total.unknown.count));
        }
        hs_lifetime_sums_deinit(&sums);
    }
    return r;
}

int hs_report_write_temporary(struct hs_report *report)
{
    struct hs_lifetime_sums sums;
    int r = hs_lifetime_sums_build(&report->selection, &report->agg, 0, &sums);
    if (r == 0 && sums.total.freed.count > 0) {
        char count[HS_FORMAT_INTERVAL_BYTES], of[64], share[64];
        struct hs_figure figure = hs_figure_of(&sums.total.temporary, true);
        struct hs_buf text = HS_BUF_INIT;
        hs_buf_printf(
            &text,
            "Temporary: %s of %s freed blocks (%s) were freed with no other allocation "
            "of their thread in between; --lifetimes shows where.",
            hs_format_interval(count, true, &figure), hs_human_count(of, sums.total.freed.count),
            sums.total.temporary.count > 0
                ? hs_human_share(share, sums.total.temporary.count, sums.total.freed.count)
                : "0 %");
        hs_buf_char(report->buf, '\n');
        hs_report_write_wrapped(report, "", hs_buf_text(&text));
        hs_buf_deinit(&text);
    }
    if (r == 0) {
        hs_lifetime_sums_deinit(&sums);
    }
    return r == -ENODATA ? 0 : r;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_row(struct hs_json *json, const struct hs_lifetime_row *row)
{
    struct hs_mean_lifetime mean = hs_lifetime_mean(row);
    hs_report_json_amount(json, "alloc", &row->alloc);
    hs_report_json_amount(json, "freed", &row->freed);
    hs_report_json_amount(json, "temporary", &row->temporary);
    hs_report_json_amount(json, "unknown_lifetime", &row->unknown);
    if (mean.is_known) {
        hs_json_kv_double(json, "mean_lifetime_ms", mean.mean_ms);
        hs_json_kv_double(json, "mean_lifetime_low_ms", mean.low_ms);
        hs_json_kv_double(json, "mean_lifetime_high_ms", mean.high_ms);
        hs_json_kv_double(json, "lifetime_byte_ms", row->byte_ms);
        hs_json_kv_double(json, "lifetime_object_ms", row->count_ms);
    }
    hs_json_key(json, "survival");
    hs_json_open(json, '{');
    for (unsigned i = 0; i < HS_SURVIVAL_TIMES; i++) {
        struct hs_survival survival = hs_lifetime_survival(row, i);
        if (survival.is_known) {
            hs_json_key(json, hs_survival_time_names[i]);
            hs_json_open_inline(json, '{');
            hs_json_kv_double(json, "share", survival.share);
            hs_json_kv_double(json, "low", survival.low);
            hs_json_kv_double(json, "high", survival.high);
            hs_json_close(json, '}');
        }
    }
    hs_json_close(json, '}');
}

int hs_report_json_lifetimes(const struct hs_report *report, struct hs_json *json)
{
    struct hs_lifetime_sums sums;
    if (!report->options->has_lifetimes) {
        return 0;
    }
    int r = hs_lifetime_sums_build(&report->selection, &report->agg, report->options->between_count,
                                   &sums);
    if (r < 0) {
        return r;
    }
    hs_json_key(json, "lifetimes");
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "temporary_between", report->options->between_count);
    json_row(json, &sums.total);
    hs_json_key(json, "stacks");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < sums.count && i < report->options->top_count; i++) {
        hs_json_open(json, '{');
        hs_report_json_frames(report, json, sums.rows[i].node);
        json_row(json, &sums.rows[i]);
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
    hs_json_close(json, '}');
    hs_lifetime_sums_deinit(&sums);
    return 0;
}
