/* See report.h. This file selects the content and calls the parts in their order. */
#include "view/report.h"

#include <stdlib.h>
#include <string.h>

#include "profile/analyse/wrappers.h"
#include "profile/model/describe.h"
#include "rt/text.h"
#include "util/utf8.h"
#include "view/report_parts.h"
#include "view/wrapped.h"

void hs_report_write_table(const struct hs_report *report, struct hs_table *table,
                           const char *give_way)
{
    hs_table_write(table, report->buf,
                   &(struct hs_table_style){ .indent = 2,
                                             .columns = report->options->columns,
                                             .has_colour = report->options->has_colour,
                                             .has_titles = true,
                                             .give_way = give_way });
    hs_table_deinit(table);
}

bool hs_report_fits(const struct hs_report *report, size_t columns)
{
    return report->options->columns == 0 || columns <= report->options->columns;
}

void hs_report_heading(struct hs_report *report, const char *title, const char *remark)
{
    struct hs_buf *buf = report->buf;
    bool has_colour = report->options->has_colour;
    if (report->words) {
        return;
    }
    bool has_remark = remark && remark[0];
    size_t title_columns = hs_utf8_columns(title, strlen(title));
    hs_buf_char(buf, '\n');
    if (has_remark &&
        hs_report_fits(report, title_columns + 3 + hs_utf8_columns(remark, strlen(remark)))) {
        hs_text_style(buf, has_colour, HS_TEXT_BOLD);
        hs_buf_str(buf, title);
        hs_text_style(buf, has_colour, HS_TEXT_PLAIN);
        hs_buf_str(buf, "   ");
        hs_text_style(buf, has_colour, HS_TEXT_DIM);
        hs_buf_str(buf, remark);
        hs_text_style(buf, has_colour, HS_TEXT_PLAIN);
        hs_buf_char(buf, '\n');
        return;
    }
    hs_text_style(buf, has_colour, HS_TEXT_BOLD);
    hs_report_write_wrapped(report, "", title);
    hs_text_style(buf, has_colour, HS_TEXT_PLAIN);
    if (has_remark) {
        hs_text_style(buf, has_colour, HS_TEXT_DIM);
        hs_report_write_wrapped(report, "  ", remark);
        hs_text_style(buf, has_colour, HS_TEXT_PLAIN);
    }
}

void hs_report_write_wrapped(struct hs_report *report, const char *indent, const char *text)
{
    if (report->words) {
        hs_report_words_add(report->words, text);
        return;
    }
    hs_wrapped_write(report->buf, indent, report->options->columns, text);
}

void hs_report_write_place(const struct hs_report *report, uint32_t node, struct hs_buf *buf)
{
    const struct hs_profile *p = report->profile;
    const struct hs_agg_node *n = &report->agg.nodes[node];
    if (n->line != UINT32_MAX && p->lines[n->line].file != 0) {
        hs_buf_str(buf, hs_text_base_name(hs_profile_string(p, p->lines[n->line].file)));
        if (p->lines[n->line].line != 0) {
            hs_buf_printf(buf, ":%u", p->lines[n->line].line);
        }
    } else {
        hs_report_write_module(report, &report->agg.functions[n->function], buf);
    }
}

void hs_report_write_module(const struct hs_report *report, const struct hs_agg_function *function,
                            struct hs_buf *buf)
{
    const char *name = hs_describe_module(report->profile, function->module);
    if (function->file != 0) {
        hs_buf_printf(buf, "[%s]",
                      hs_text_base_name(hs_profile_string(report->profile, function->file)));
        return;
    }
    if (function->name != 0 && function->module != report->main_module && name[0] != '\0') {
        /* Functions of a script have a module such as "[ruby]". */
        hs_buf_printf(buf, name[0] == '[' ? "%s" : "[%s]", name);
    }
}

/* Finds the module that is the executable of the only process. */
static uint32_t find_main_module(const struct hs_report *report)
{
    const struct hs_profile *p = report->profile;
    if (report->selection.dump_count != 1) {
        return UINT32_MAX;
    }
    uint32_t exe = p->processes[p->dumps[report->selection.dumps[0]].process].exe;
    for (uint32_t i = 0; i < p->module_count; i++) {
        if (p->modules[i].path != 0 && p->modules[i].path == exe) {
            return i;
        }
    }
    return UINT32_MAX;
}

static int prepare(struct hs_report *report)
{
    int err = hs_select_dumps(report->profile, &report->options->select, &report->selection);
    if (err != 0) {
        return err;
    }
    err = hs_view_choose(&report->selection, report->options->view, &report->view,
                         &report->view_reason);
    if (err == 0) {
        err = hs_agg_build(&report->selection, true, &report->agg);
    }
    if (err == 0) {
        err = hs_wrappers_find(&report->agg);
    }
    if (err == 0) {
        err = hs_agg_functions(&report->agg, hs_views[report->view].quantity, &report->rows,
                               &report->row_count);
    }
    if (err == 0) {
        report->total = hs_agg_total(&report->agg, &report->selection, report->view);
        report->main_module = find_main_module(report);
    }
    return err;
}

static void release(struct hs_report *report)
{
    free(report->rows);
    hs_agg_deinit(&report->agg);
    hs_selection_deinit(&report->selection);
}

/* Where the memory went. The answer is of all stacks, the focus of some. */
static int write_memory(struct hs_report *report)
{
    const struct hs_report_options *options = report->options;
    bool has_focus = hs_filter_words_is_any(&options->filters);
    hs_report_write_losses(report);
    if (has_focus) {
        hs_report_write_focus(report);
    } else if (report->options->form != HS_REPORT_BY) {
        hs_report_write_answer(report);
        hs_report_write_heaps(report);
        hs_report_write_processes(report);
    }
    if (has_focus && report->agg.self_count == 0) {
        return 0; /* no stack matches */
    }
    if (report->options->form == HS_REPORT_BY) {
        return hs_report_write_by(report);
    }
    int err = hs_report_write_threads(report);
    err = err ? err : hs_report_write_temporary(report);
    if (err == 0 && report->options->form == HS_REPORT_TREE) {
        err = report->options->by.by_count > 0 ? hs_report_write_trees(report)
                                               : hs_report_write_tree(report);
    } else if (err == 0) {
        hs_report_write_functions(report);
        err = hs_report_write_stacks(report);
    }
    if (err == 0) {
        hs_report_write_folded(report);
        hs_report_write_nameless(report);
    }
    return err;
}

int hs_report_write(const struct hs_profile *profile, const struct hs_report_options *options,
                    struct hs_buf *buf)
{
    struct hs_report report = { .profile = profile, .options = options, .buf = buf };
    int err = prepare(&report);
    if (err == 0 && options->form >= HS_REPORT_JSON) {
        err = hs_report_write_json(&report);
    } else if (err == 0) {
        hs_report_write_head(&report);
        if (options->form == HS_REPORT_HEALTH) {
            hs_report_write_health(&report);
        } else if (options->form == HS_REPORT_RSS) {
            err = hs_report_write_ledger(&report);
            err = err ? err : hs_report_write_mapped(&report);
            err = err ? err : hs_report_write_pins(&report);
        } else if (options->form == HS_REPORT_LEAKS) {
            hs_report_write_losses(&report);
            err = hs_report_write_leaks(&report);
        } else if (options->form == HS_REPORT_LIFETIMES) {
            hs_report_write_losses(&report);
            err = hs_report_write_lifetimes(&report);
        } else {
            if (options->form != HS_REPORT_BY) {
                hs_report_write_named(&report);
            }
            err = write_memory(&report);
        }
    }
    release(&report);
    return err != 0 ? err : buf->err;
}

int hs_report_write_summary(const struct hs_profile *profile,
                            const struct hs_report_options *options, struct hs_buf *buf)
{
    struct hs_report report = { .profile = profile, .options = options, .buf = buf };
    int err = prepare(&report);
    if (err == 0) {
        hs_report_write_head(&report);
        hs_report_write_losses(&report);
        hs_report_write_answer(&report);
        err = hs_report_write_stacks(&report);
    }
    release(&report);
    return err != 0 ? err : buf->err;
}
