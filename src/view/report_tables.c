/*
 * The evidence: functions by self and by total, and the largest stacks. See report_parts.h.
 *
 *     1   120 MiB ± 1.1 MiB   29.2 %   30,123 objects of 4.10 KiB
 *           operator new(unsigned long)  [libstdc++.so.6]
 *           std::vector<Row>::_M_realloc_insert(…)  vector.tcc:440
 *         > build_index(Table&)  index.cc:88
 *           main  main.cc:44
 *
 * The marked frame is the most informative one of the stack; the frames before it belong to
 * libraries.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/frame_class.h"
#include "rt/base.h"
#include "util/cxx_name.h"
#include "util/utf8.h"
#include "view/report_parts.h"

/* How many frames at the outer end of a long stack are always shown. */
#define OUTER_FRAMES_KEPT 1
/* If a frame's name would be cut to less than this, its place is left out. */
#define NAME_MIN     20
#define STACK_INDENT 8

static void add_function_row(struct hs_report *report, struct hs_table *table,
                             const struct hs_agg_row *row, double total)
{
    const struct hs_view_info *view = &hs_views[report->view];
    char text[HS_FORMAT_INTERVAL_BYTES];
    struct hs_buf name = HS_BUF_INIT;
    struct hs_buf place = HS_BUF_INIT;
    double self = hs_report_value(report, &row->self);
    double all = hs_report_value(report, &row->total);
    hs_table_cell(table, "%s", self > 0 ? hs_format_value(text, view->is_count, self) : "");
    struct hs_figure figure = hs_view_figure(report->view, &row->self);
    hs_report_margin(report, text, view->is_count, &figure);
    hs_table_cell(table, "%s", self > 0 ? text : "");
    hs_table_cell(table, "%s", self > 0 ? hs_human_share(text, self, total) : "");
    hs_table_cell(table, "%s", hs_format_value(text, view->is_count, all));
    hs_table_cell(table, "%s", hs_human_share(text, all, total));
    hs_agg_write_function(&report->agg, row->function, &name);
    hs_report_write_module(report, &report->agg.functions[row->function], &place);
    hs_table_cell(table, "%s", hs_buf_text(&name));
    hs_table_cell(table, "%s", hs_buf_text(&place));
    hs_buf_deinit(&name);
    hs_buf_deinit(&place);
}

static bool is_listed(const struct hs_report *report, const struct hs_agg_row *row,
                      enum hs_agg_order order)
{
    uint8_t class_ = report->agg.functions[row->function].class_;
    if (order == HS_AGG_BY_SELF) {
        return hs_report_value(report, &row->self) > 0;
    }
    /*
     * The program's own functions say which code asked for memory; other functions are in every
     * stack.
     */
    return class_ == HS_FRAME_CLASS_USER && hs_report_value(report, &row->total) > 0;
}

/* Is any function of the profile of this class? */
static bool has_class(const struct hs_report *report, enum hs_frame_class class_)
{
    for (uint32_t i = 0; i < report->agg.function_count; i++) {
        if (report->agg.functions[i].class_ == class_) {
            return true;
        }
    }
    return false;
}

/* What a table leaves out, or adds to other functions than those that allocated it. */
static const char *remark_of(const struct hs_report *report, enum hs_agg_order order)
{
    bool has_runtime = has_class(report, HS_FRAME_CLASS_RUNTIME);
    if (order == HS_AGG_BY_TOTAL) {
        return has_runtime ? "without standard libraries, runtimes and wrappers"
                           : "without standard libraries and wrappers";
    }
    return has_runtime ? "those of a language's runtime and of wrappers count for their callers"
           : has_class(report, HS_FRAME_CLASS_ALLOCATOR)
               ? "those of an allocation wrapper count for its caller"
               : "";
}

static void write_functions_by(struct hs_report *report, enum hs_agg_order order)
{
    static const struct hs_table_column columns[] = {
        { "self", HS_TABLE_RIGHT },  { "", HS_TABLE_LEFT },  { "", HS_TABLE_RIGHT },
        { "total", HS_TABLE_RIGHT }, { "", HS_TABLE_RIGHT }, { "function", HS_TABLE_NAME },
        { "", HS_TABLE_NOTE },
    };
    double total = hs_report_value(report, &report->total);
    uint32_t listed = 0;
    uint32_t count = 0;
    const char *what = remark_of(report, order);
    struct hs_table table;
    hs_table_init(&table, columns, HS_COUNT_OF(columns));
    hs_agg_sort_functions(report->rows, report->row_count, report->view, order);
    for (uint32_t i = 0; i < report->row_count; i++) {
        if (!is_listed(report, &report->rows[i], order)) {
            continue;
        }
        count++;
        if (listed < report->options->top_count) {
            add_function_row(report, &table, &report->rows[i], total);
            listed++;
        }
    }
    char remark[128], largest[64] = "";
    if (listed < count) {
        snprintf(largest, sizeof(largest), "%sthe largest %u of %u", what[0] ? "; " : "", listed,
                 count);
    }
    snprintf(remark, sizeof(remark), "%s%s", what, largest);
    hs_report_heading(report,
                      order == HS_AGG_BY_SELF
                          ? "Functions by their own allocations"
                          : "Functions by allocations of their own and their callees",
                      remark);
    hs_report_write_table(report, &table, "1 4 2");
}

void hs_report_write_functions(struct hs_report *report)
{
    if (hs_report_value(report, &report->total) > 0) {
        write_functions_by(report, HS_AGG_BY_SELF);
        write_functions_by(report, HS_AGG_BY_TOTAL);
    }
}

static void write_frame(struct hs_report *report, uint32_t node, bool is_headline)
{
    struct hs_buf *buf = report->buf;
    bool has_colour = report->options->has_colour;
    const struct hs_agg_node *n = &report->agg.nodes[node];
    struct hs_buf name = HS_BUF_INIT;
    struct hs_buf place = HS_BUF_INIT;
    hs_agg_write_function(&report->agg, n->function, &name);
    hs_report_write_place(report, node, &place);
    size_t columns = report->options->columns;
    size_t place_columns = place.bytes ? hs_utf8_columns(place.data, place.bytes) + 2 : 0;
    bool has_place = place_columns > 0 && hs_report_fits(report, 9 + NAME_MIN + place_columns);
    size_t taken = 9 + (has_place ? place_columns : 0);
    size_t room = columns == 0 ? SIZE_MAX : columns > taken + NAME_MIN ? columns - taken : NAME_MIN;

    hs_buf_str(buf, is_headline ? "       > " : "         ");
    hs_text_style(buf, has_colour, is_headline ? HS_TEXT_BOLD : HS_TEXT_PLAIN);
    hs_cxx_write_fit(buf, hs_buf_text(&name), room);
    hs_text_style(buf, has_colour, HS_TEXT_PLAIN);
    if (has_place) {
        hs_buf_str(buf, "  ");
        hs_text_style(buf, has_colour, HS_TEXT_DIM);
        hs_utf8_write(buf, hs_buf_text(&place), place.bytes);
        hs_text_style(buf, has_colour, HS_TEXT_PLAIN);
    }
    hs_buf_char(buf, '\n');
    hs_buf_deinit(&name);
    hs_buf_deinit(&place);
}

/* Writes one line in place of `count` frames, or the frame itself when it is only one. */
static void write_gap(struct hs_report *report, uint32_t count, uint32_t frame)
{
    if (count == 1) {
        write_frame(report, frame, false);
    } else if (count > 1) {
        hs_text_style(report->buf, report->options->has_colour, HS_TEXT_DIM);
        hs_buf_printf(report->buf, "         … %u more", count);
        hs_text_style(report->buf, report->options->has_colour, HS_TEXT_PLAIN);
        hs_buf_char(report->buf, '\n');
    }
}

/*
 * Writes the frames, innermost first, without those that run before main, and without the middle of
 * a long stack. The frame of the headline is always written, so the middle may have two gaps.
 */
void hs_report_write_frames(struct hs_report *report, uint32_t leaf)
{
    const struct hs_agg *agg = &report->agg;
    uint32_t headline = hs_agg_headline(agg, leaf);
    uint32_t frame_count = 0;
    uint32_t limit = report->options->frame_count;
    for (uint32_t n = leaf; n != HS_NODE_NONE; n = agg->nodes[n].parent) {
        bool is_start = agg->functions[agg->nodes[n].function].class_ == HS_FRAME_CLASS_START;
        frame_count += limit == HS_REPORT_ALL || !is_start;
    }
    /* The gap takes a line too, so it must hide at least two frames. */
    uint32_t inner = frame_count;
    uint32_t outer = 0;
    if (frame_count > limit && limit > OUTER_FRAMES_KEPT + 1) {
        outer = OUTER_FRAMES_KEPT;
        inner = limit - outer - 1;
    }
    uint32_t at = 0, hidden_count = 0, hidden = HS_NODE_NONE;
    for (uint32_t n = leaf; n != HS_NODE_NONE; n = agg->nodes[n].parent) {
        bool is_start = agg->functions[agg->nodes[n].function].class_ == HS_FRAME_CLASS_START;
        if (limit != HS_REPORT_ALL && is_start) {
            continue;
        }
        if (at < inner || at >= frame_count - outer || n == headline) {
            write_gap(report, hidden_count, hidden);
            hidden_count = 0;
            write_frame(report, n, n == headline);
        } else {
            hidden_count++;
            hidden = n;
        }
        at++;
    }
}

/* Writes one more figure of a stack, on a new line when there is no room left. */
static void write_part(struct hs_report *report, const char *text, size_t *used)
{
    size_t columns = hs_utf8_columns(text, strlen(text));
    if (hs_report_fits(report, *used + 3 + columns)) {
        hs_buf_printf(report->buf, "   %s", text);
        *used += 3 + columns;
    } else {
        hs_buf_char(report->buf, '\n');
        hs_buf_repeat(report->buf, ' ', STACK_INDENT);
        hs_buf_str(report->buf, text);
        *used = STACK_INDENT + columns;
    }
}

static void write_stack(struct hs_report *report, uint32_t rank, const struct hs_agg_self *self)
{
    const struct hs_view_info *view = &hs_views[report->view];
    const struct hs_amount *amount = &self->by[view->quantity];
    char text[HS_FORMAT_INTERVAL_BYTES];
    char share[HS_HUMAN_BYTES];
    struct hs_buf *buf = report->buf;
    hs_buf_printf(buf, "%s  %3u   ", rank > 1 ? "\n" : "", rank);
    hs_text_style(buf, report->options->has_colour, HS_TEXT_BOLD);
    hs_format_value(text, view->is_count, hs_report_value(report, amount));
    hs_buf_str(buf, text);
    size_t used = STACK_INDENT + strlen(text);
    hs_text_style(buf, report->options->has_colour, HS_TEXT_PLAIN);
    struct hs_figure figure = hs_view_figure(report->view, amount);
    hs_report_margin(report, text, view->is_count, &figure);
    hs_human_share(share, hs_report_value(report, amount), hs_report_value(report, &report->total));
    hs_buf_printf(buf, "%s%s", text[0] ? " " : "", text);
    used += (text[0] ? 1 : 0) + hs_utf8_columns(text, strlen(text));
    write_part(report, share, &used);
    char part[3 * HS_HUMAN_BYTES];
    if (view->is_count) {
        snprintf(part, sizeof(part), "%s in total", hs_human_bytes(text, amount->bytes));
        write_part(report, part, &used);
    } else if (amount->has_sample_counts) {
        snprintf(part, sizeof(part), "%s sample%s", hs_human_count(text, amount->count),
                 amount->count < 1.5 ? "" : "s");
        write_part(report, part, &used);
    } else if (amount->count > 0) {
        char size[HS_HUMAN_BYTES];
        struct hs_figure objects = hs_figure_of(amount, true);
        const char *about = hs_margin_of(&objects).above > 0 ? "≈ " : "";
        snprintf(part, sizeof(part), "%s%s object%s of %s", about,
                 hs_human_count(text, amount->count), amount->count < 1.5 ? "" : "s",
                 hs_human_bytes(size, amount->bytes / amount->count));
        write_part(report, part, &used);
    }
    hs_buf_char(buf, '\n');
    hs_report_write_frames(report, self->node);
}

int hs_report_write_stacks(struct hs_report *report)
{
    uint32_t *order;
    uint32_t count;
    int err = hs_agg_sorted_stacks(&report->agg, report->view, &order, &count);
    if (err < 0) {
        return err;
    }
    uint32_t listed = count < report->options->stack_count ? count : report->options->stack_count;
    if (listed > 0) {
        char number[HS_HUMAN_BYTES];
        char remark[128] = "";
        if (listed < count) {
            snprintf(remark, sizeof(remark),
                     "the largest %u of %s; --top N lists more, --tree shows all", listed,
                     hs_human_exact(number, count));
        }
        hs_report_heading(report, "Stacks", remark);
        for (uint32_t i = 0; i < listed; i++) {
            write_stack(report, i + 1, &report->agg.selves[order[i]]);
        }
        hs_buf_char(report->buf, '\n');
        hs_report_write_wrapped(report, "  ",
                                "\">\" marks the innermost function that is neither an allocation "
                                "wrapper nor of a standard library, if the stack has one.");
    }
    free(order);
    return 0;
}
