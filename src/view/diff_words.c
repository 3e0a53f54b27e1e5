/* Formats differences as text, and writes the head of a comparison. See diff_view.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profile/analyse/heap_sums.h"
#include "util/human.h"
#include "util/table.h"
#include "util/utf8.h"
#include "view/diff_view.h"
#include "view/format_interval.h"

#define MINUS "\xe2\x88\x92"

void hs_diff_write_table(struct hs_table *table, unsigned columns, bool has_colour,
                         const char *give_way, struct hs_buf *buf)
{
    hs_table_write(table, buf,
                   &(struct hs_table_style){ .indent = 2,
                                             .columns = columns,
                                             .has_colour = has_colour,
                                             .has_titles = true,
                                             .give_way = give_way });
}

void hs_diff_end_table(struct hs_table *table, const struct hs_diff_table_end *end,
                       struct hs_buf *buf)
{
    if (end->row_count > 0) {
        hs_buf_printf(buf, "\n%s\n", end->title);
        hs_diff_write_table(table, end->columns, end->has_colour, "4 1", buf);
    }
    if (end->row_count > end->top_count) {
        hs_buf_printf(buf, "  and %u more: --top all\n", end->row_count - end->top_count);
    }
}

char *hs_diff_signed(char *out, bool is_count, double value)
{
    char text[HS_FORMAT_INTERVAL_BYTES];
    hs_format_value(text, is_count, fabs(value));
    snprintf(out, HS_DIFF_CELL_BYTES, "%s%.64s", value > 0 ? "+" : value < 0 ? MINUS : "", text);
    return out;
}

char *hs_diff_interval(char *out, bool is_count, const struct hs_diff_change *change)
{
    char low[HS_DIFF_CELL_BYTES], high[HS_DIFF_CELL_BYTES];
    out[0] = '\0';
    if (change->low < change->delta || change->high > change->delta) {
        snprintf(out, HS_DIFF_CELL_BYTES, "%.40s .. %.40s",
                 hs_diff_signed(low, is_count, change->low),
                 hs_diff_signed(high, is_count, change->high));
    }
    return out;
}

char *hs_diff_percent(char *out, const struct hs_diff_change *change)
{
    out[0] = '\0';
    if (change->before > 0) {
        double percent = 100 * change->delta / change->before;
        const char *sign = percent > 0 ? "+" : percent < 0 ? MINUS : "";
        char number[HS_HUMAN_BYTES];
        if (fabs(percent) >= 999.5 && fabs(percent) < 1e15) {
            hs_human_exact(number, (uint64_t)(fabs(percent) + 0.5));
        } else {
            snprintf(number, sizeof(number), "%.3g", fabs(percent));
        }
        snprintf(out, HS_DIFF_CELL_BYTES, "%s%s %%", sign, number);
    }
    return out;
}

static void write_side(const struct hs_diff *diff, const struct hs_diff_options *options, int side,
                       struct hs_buf *buf)
{
    const struct hs_selection *s = options->selections[side];
    const struct hs_profile_dump *last = &s->profile->dumps[s->dumps[s->dump_count - 1]];
    char duration[HS_HUMAN_BYTES], interval[HS_HUMAN_BYTES], figure[HS_FORMAT_INTERVAL_BYTES];
    struct hs_figure total = hs_view_figure(diff->view, &diff->total.by[side]);
    hs_buf_printf(buf, "  %-7s ", side == HS_DIFF_BEFORE ? "before" : "after");
    hs_buf_str(buf, hs_format_interval(figure, hs_views[diff->view].is_count, &total));
    hs_buf_str(buf, "   ");
    hs_utf8_write(buf, options->names[side], strlen(options->names[side]));
    hs_buf_printf(buf, ", ");
    if (s->dump_count == 1) {
        hs_buf_printf(buf, "snapshot %u", last->index);
    } else {
        hs_buf_printf(buf, "%u processes added up", s->dump_count);
    }
    struct hs_buf heaps = HS_BUF_INIT;
    uint32_t heap_count = hs_heap_sums_describe(s, &heaps);
    if (heap_count > 1) {
        hs_buf_printf(buf, ", %s", hs_buf_text(&heaps));
    }
    hs_buf_deinit(&heaps);
    bool is_exact = s->interval_min_bytes == 1 && s->interval_max_bytes == 1 && !s->is_sampled;
    hs_buf_printf(
        buf, ", %s after the start, %s%s\n",
        hs_human_duration(duration, s->end_ns > s->start_ns ? s->end_ns - s->start_ns : 0),
        is_exact ? "without sampling" : "sampling interval ",
        is_exact                     ? ""
        : s->interval_min_bytes == 0 ? "not known"
                                     : hs_human_bytes(interval, (double)s->interval_max_bytes));
}

void hs_diff_write_head(const struct hs_diff *diff, const struct hs_diff_options *options,
                        struct hs_buf *buf)
{
    char delta[HS_DIFF_CELL_BYTES], interval[HS_DIFF_CELL_BYTES], percent[HS_DIFF_CELL_BYTES];
    bool is_count = hs_views[diff->view].is_count;
    struct hs_diff_change change = hs_diff_change_of(diff, &diff->total);
    bool is_sampled = options->selections[HS_DIFF_BEFORE]->is_sampled ||
                      options->selections[HS_DIFF_AFTER]->is_sampled;
    hs_buf_printf(buf, "Difference in %s%s\n", hs_view_title(diff->view, diff->is_peak_of_several),
                  is_sampled ? "   " HS_MARGINS_LEGEND : "");
    write_side(diff, options, HS_DIFF_BEFORE, buf);
    write_side(diff, options, HS_DIFF_AFTER, buf);
    if (diff->is_normalized) {
        hs_buf_printf(buf,
                      "  scaled  the figures of \"before\" are multiplied by %.4g, so that both "
                      "totals are equal\n",
                      diff->scale);
    }
    hs_diff_interval(interval, is_count, &change);
    hs_diff_percent(percent, &change);
    hs_buf_printf(buf, "  change  %s%s%s%s%s%s%s%s\n",
                  hs_diff_signed(delta, is_count, change.delta), percent[0] ? ", " : "", percent,
                  interval[0] ? " (95 %: " : "", interval, interval[0] ? ")" : "",
                  change.verdict == HS_DIFF_NOISE ? ", within noise" : "",
                  change.verdict == HS_DIFF_SAME ? ", nothing" : "");
    hs_filter_words_line(&options->filters, buf);
}
