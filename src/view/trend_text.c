/* Writes a trend as a table. See trend_view.h. */
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/heap_sums.h"
#include "profile/model/describe.h"
#include "rt/base.h"
#include "util/human.h"
#include "util/rate_unit.h"
#include "util/saturate.h"
#include "util/table.h"
#include "util/utf8.h"
#include "view/diff_view.h"
#include "view/format_interval.h"
#include "view/trend_lines.h"
#include "view/trend_view.h"

#define STACKS_SHOWN 5
#define FRAMES_SHOWN 12

static void write_head(const struct hs_trend *trend, const struct hs_trend_options *options,
                       struct hs_buf *buf)
{
    const struct hs_profile_process *process = &options->profile->processes[trend->process];
    bool is_count = hs_views[trend->view].is_count;
    char slope[HS_DIFF_CELL_BYTES], margin[HS_TREND_CELL_BYTES], steps[HS_TREND_CELL_BYTES],
        time[HS_HUMAN_BYTES];
    char first[HS_FORMAT_INTERVAL_BYTES], last[HS_FORMAT_INTERVAL_BYTES];
    hs_buf_printf(buf, "Trend of %s: ", hs_views[trend->view].title);
    hs_describe_process(options->profile, trend->process, buf);
    hs_buf_printf(buf, " (pid %u), %u snapshots in %s", process->pid, trend->dump_count,
                  hs_human_duration(time, hs_saturate_round_unsigned(trend->seconds * 1e9)));
    if (trend->dump_left_out_count > 0) {
        hs_buf_printf(buf, ", and %u of which only the totals were read",
                      trend->dump_left_out_count);
    }
    hs_buf_str(buf, "\n  file    ");
    hs_utf8_write(buf, options->name, strlen(options->name));
    struct hs_buf heaps = HS_BUF_INIT;
    hs_heap_sums_describe_process(options->profile, trend->process, &heaps);
    if (heaps.bytes > 0) {
        hs_buf_printf(buf, "\n  heaps   %s", hs_buf_text(&heaps));
    }
    hs_buf_deinit(&heaps);
    const struct hs_trend_line *total = &trend->total;
    const struct hs_rate_unit *unit = hs_rate_unit_of(trend->seconds);
    struct hs_trend_line rate = hs_trend_by(total, unit);
    hs_trend_margin(margin, is_count, &rate);
    hs_buf_printf(
        buf, "\n  total   %s -> %s, %s%s%s %s, %s: %s\n",
        hs_format_value(first, is_count, total->first),
        hs_format_value(last, is_count, total->last), hs_diff_signed(slope, is_count, rate.slope),
        margin[0] ? " " : "", margin, unit->words, hs_trend_steps(steps, total),
        total->verdict == HS_TREND_NOISE ? "no trend" : hs_trend_verdict_names[total->verdict]);
    hs_filter_words_line(&options->filters, buf);
}

static void write_table(const struct hs_trend *trend, const struct hs_trend_options *options,
                        enum hs_trend_verdict verdict, bool is_fallen, const char *title,
                        const uint32_t *order, uint32_t count, struct hs_buf *buf)
{
    bool is_count = hs_views[trend->view].is_count;
    const struct hs_rate_unit *unit = hs_rate_unit_of(trend->seconds);
    const struct hs_table_column columns[] = {
        { unit->words, HS_TABLE_RIGHT }, { "95 %", HS_TABLE_RIGHT },  { "first", HS_TABLE_RIGHT },
        { "last", HS_TABLE_RIGHT },      { "steps", HS_TABLE_RIGHT }, { "leak", HS_TABLE_RIGHT },
        { "function", HS_TABLE_NAME },
    };
    struct hs_table table;
    uint32_t found = 0;
    char cell[HS_TREND_CELL_BYTES], figure[HS_FORMAT_INTERVAL_BYTES];
    hs_table_init(&table, columns, HS_COUNT_OF(columns));
    for (uint32_t i = 0; i < count; i++) {
        const struct hs_trend_line *line = &trend->functions[order[i]].line;
        bool has_fallen = verdict == HS_TREND_GROWS && line->steps_down > 0;
        if (line->verdict != verdict || has_fallen != is_fallen || found++ >= options->top_count) {
            continue;
        }
        struct hs_trend_line rate = hs_trend_by(line, unit);
        hs_table_cell(&table, "%s", hs_diff_signed(cell, is_count, rate.slope));
        hs_table_cell(&table, "%s", hs_trend_margin(cell, is_count, &rate));
        hs_table_cell(&table, "%s", hs_format_value(figure, is_count, line->first));
        hs_table_cell(&table, "%s", hs_format_value(figure, is_count, line->last));
        hs_table_cell(&table, "%s", hs_trend_steps(cell, line));
        hs_table_cell(&table, "%s", hs_trend_leak(cell, &trend->functions[order[i]]));
        hs_table_cell(&table, "%s", hs_trend_name(trend, order[i]));
    }
    const struct hs_diff_table_end end = { .title = title,
                                           .row_count = found,
                                           .top_count = options->top_count,
                                           .columns = options->columns,
                                           .has_colour = options->has_colour };
    hs_diff_end_table(&table, &end, buf);
    hs_table_deinit(&table);
}

/* Writes the stacks that grow and never fell, the steepest first. */
static int write_stacks(const struct hs_trend *trend, const struct hs_trend_options *options,
                        struct hs_buf *buf)
{
    uint32_t *order;
    uint32_t count;
    uint32_t shown = 0;
    const struct hs_rate_unit *unit = hs_rate_unit_of(trend->seconds);
    char slope[HS_DIFF_CELL_BYTES], steps[HS_TREND_CELL_BYTES], leak[HS_TREND_CELL_BYTES];
    int err = hs_trend_sort(trend->stacks, trend->stack_count, &order, &count);
    if (err < 0) {
        return err;
    }
    uint32_t most = options->top_count < STACKS_SHOWN || options->top_count == UINT32_MAX
                        ? options->top_count
                        : STACKS_SHOWN;
    for (uint32_t i = 0; i < count && shown < most; i++) {
        const struct hs_trend_row *row = &trend->stacks[order[i]];
        if (row->line.verdict != HS_TREND_GROWS || row->line.steps_down > 0) {
            continue;
        }
        struct hs_trend_line rate = hs_trend_by(&row->line, unit);
        hs_trend_leak(leak, row);
        hs_buf_printf(
            buf, "%s  %s %s, %s%s%s\n", shown++ == 0 ? "\nStacks that grow and never fell\n" : "",
            hs_diff_signed(slope, hs_views[trend->view].is_count, rate.slope), unit->words,
            hs_trend_steps(steps, &row->line), leak[0] ? ", leak: " : "", leak);
        uint32_t depth = 0;
        for (uint32_t n = order[i]; n != HS_NODE_NONE; n = trend->stacks[n].parent) {
            const char *name = hs_trend_name(trend, trend->stacks[n].function);
            if (depth++ < FRAMES_SHOWN) {
                hs_buf_str(buf, "      ");
                hs_utf8_write(buf, name, strlen(name));
                hs_buf_char(buf, '\n');
            }
        }
        if (depth > FRAMES_SHOWN) {
            hs_buf_printf(buf, "      ... %u more\n", depth - FRAMES_SHOWN);
        }
    }
    free(order);
    return 0;
}

int hs_trend_write_text(const struct hs_trend *trend, const struct hs_trend_options *options,
                        struct hs_buf *buf)
{
    uint32_t *order;
    uint32_t count;
    uint32_t counts[HS_TREND_VERDICT_N] = { 0 };
    int err = hs_trend_sort(trend->functions, trend->function_count, &order, &count);
    if (err < 0) {
        return err;
    }
    write_head(trend, options, buf);
    if (options->rss) {
        hs_trend_write_rss_verdict(options->rss, options, buf);
    }
    write_table(trend, options, HS_TREND_GROWS, false, "Functions that grew and never fell", order,
                count, buf);
    write_table(trend, options, HS_TREND_GROWS, true, "Functions that grew, with ups and downs",
                order, count, buf);
    write_table(trend, options, HS_TREND_SHRINKS, false, "Functions that shrank", order, count,
                buf);
    err = write_stacks(trend, options, buf);
    for (uint32_t i = 0; i < count; i++) {
        counts[trend->functions[order[i]].line.verdict]++;
    }
    hs_buf_printf(buf,
                  "\n"
                  "No trend above noise: %u function%s\n"
                  "Unchanged: %u function%s\n",
                  counts[HS_TREND_NOISE], counts[HS_TREND_NOISE] == 1 ? "" : "s",
                  counts[HS_TREND_SAME], counts[HS_TREND_SAME] == 1 ? "" : "s");
    free(order);
    return err ? err : buf->err;
}
