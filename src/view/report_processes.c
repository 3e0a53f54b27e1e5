/*
 * The processes of a profile: how often each program ran, and the largest processes. See
 * report_parts.h.
 *
 * A build starts a thousand compilers, and a line for each would bury the answer. Processes of one
 * name are therefore summed up first, and only the largest single ones are listed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/describe.h"
#include "rt/base.h"
#include "view/report_parts.h"

#define PROCESSES_LISTED 8
#define PROGRAMS_LISTED  8

struct program {
    uint32_t name; /* string id */
    uint32_t count;
    double peak_bytes; /* of the largest process */
    double alloc_bytes;
    struct hs_figure live; /* bytes */
    double sort_bytes;     /* sum of their peaks */
};

static double size_of(const struct hs_report *report, const struct hs_profile_dump *dump)
{
    return report->selection.has_peak ? dump->peak.bytes : dump->live.bytes;
}

static int compare_dumps(const void *a, const void *b, void *ctx)
{
    const struct hs_report *report = ctx;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    double p = size_of(report, &report->profile->dumps[x]);
    double q = size_of(report, &report->profile->dumps[y]);
    if (p > q || p < q) {
        return p > q ? -1 : 1;
    }
    return x < y ? -1 : 1;
}

static int compare_programs(const void *a, const void *b)
{
    const struct program *x = a;
    const struct program *y = b;
    if (x->sort_bytes > y->sort_bytes || x->sort_bytes < y->sort_bytes) {
        return x->sort_bytes > y->sort_bytes ? -1 : 1;
    }
    return x->name < y->name ? -1 : 1;
}

/*
 * Writes from which process it inherited blocks, and how it ended unless that is normal or unknown.
 */
static void describe_process(const struct hs_profile *p, uint32_t process, struct hs_buf *note)
{
    const struct hs_profile_process *it = &p->processes[process];
    bool is_known = hs_describe_has_status(it) || hs_describe_has_signal(it);
    if (it->forked_from_pid != 0) {
        hs_buf_printf(note, "forked from %u", it->forked_from_pid);
    }
    bool is_worth_it =
        is_known ? !hs_describe_is_end_good(p, process) : hs_describe_has_executed(it);
    if (is_worth_it) {
        hs_buf_printf(note, "%s", it->forked_from_pid != 0 ? ", " : "");
        hs_describe_end(p, process, note);
    }
}

static void add_process(struct hs_report *report, struct hs_table *table, uint32_t dump_idx)
{
    const struct hs_profile *p = report->profile;
    const struct hs_profile_dump *dump = &p->dumps[dump_idx];
    const struct hs_profile_process *process = &p->processes[dump->process];
    const char *cmdline = hs_profile_string(p, process->cmdline);
    char text[HS_FORMAT_INTERVAL_BYTES];
    struct hs_buf note = HS_BUF_INIT, command = HS_BUF_INIT;
    hs_table_cell(table, "%u", process->pid);
    hs_format_value(text, false, dump->peak.bytes);
    hs_table_cell(table, "%s", dump->has_peak ? text : "");
    hs_table_cell(table, "%s", hs_format_value(text, false, dump->live.bytes));
    hs_table_cell(table, "%s", hs_format_value(text, false, dump->alloc.bytes));
    hs_report_write_on_line(&command, cmdline, strlen(cmdline));
    hs_table_cell(table, "%s",
                  cmdline[0] ? hs_buf_text(&command) : hs_profile_string(p, process->name));
    hs_buf_deinit(&command);
    describe_process(p, dump->process, &note);
    hs_table_cell(table, "%s", hs_buf_text(&note));
    hs_buf_deinit(&note);
}

static void finish_table(struct hs_report *report, struct hs_table *table, const char *give_way,
                         uint32_t left_out)
{
    hs_report_write_table(report, table, give_way);
    if (left_out > 0) {
        char text[64];
        snprintf(text, sizeof(text), "and %u smaller ones; --top N lists more", left_out);
        hs_report_write_wrapped(report, "  ", text);
    }
}

/* Lists one process more rather than printing a line that says there is one more. */
static uint32_t listed_of(const struct hs_report *report, uint32_t count, uint32_t limit)
{
    uint32_t top = report->options->top_count;
    limit = top > limit ? top : limit;
    return count - 1 <= limit ? count : limit;
}

static void write_largest(struct hs_report *report)
{
    const struct hs_selection *s = &report->selection;
    const struct hs_table_column columns[] = {
        { "pid", HS_TABLE_RIGHT },
        { s->is_peak_of_all ? "at peak of all" : "peak", HS_TABLE_RIGHT },
        { hs_selection_is_at_end(s) ? "live at end" : "live", HS_TABLE_RIGHT },
        { "allocated", HS_TABLE_RIGHT },
        { "process", HS_TABLE_TEXT },
        { "", HS_TABLE_NOTE },
    };
    uint32_t *order = calloc(s->dump_count, sizeof(*order));
    if (!order) {
        report->buf->err = report->buf->err ? report->buf->err : -ENOMEM;
        return;
    }
    memcpy(order, s->dumps, s->dump_count * sizeof(*order));
    qsort_r(order, s->dump_count, sizeof(*order), compare_dumps, report);
    uint32_t listed = listed_of(report, s->dump_count, PROCESSES_LISTED);
    struct hs_table table;
    hs_table_init(&table, columns, HS_COUNT_OF(columns));
    for (uint32_t i = 0; i < listed; i++) {
        add_process(report, &table, order[i]);
    }
    hs_report_heading(report, "Processes", "largest first; --pid PID shows one of them");
    finish_table(report, &table, "3 2 1", s->dump_count - listed);
    free(order);
}

static struct program *sum_up(struct hs_report *report, uint32_t *ret_count)
{
    const struct hs_profile *p = report->profile;
    const struct hs_selection *s = &report->selection;
    struct program *programs = calloc(s->dump_count, sizeof(*programs));
    uint32_t count = 0;
    for (uint32_t i = 0; programs && i < s->dump_count; i++) {
        const struct hs_profile_dump *dump = &p->dumps[s->dumps[i]];
        uint32_t name = p->processes[dump->process].name;
        uint32_t at = 0;
        while (at < count && programs[at].name != name) {
            at++;
        }
        count += at == count;
        struct program *program = &programs[at];
        program->name = name;
        program->count++;
        program->peak_bytes =
            dump->peak.bytes > program->peak_bytes ? dump->peak.bytes : program->peak_bytes;
        struct hs_amount part = hs_selection_part(s, i, &dump->live, &dump->inherited);
        hs_amount_widen(&part, (float)s->sample_most_bytes);
        struct hs_figure live = hs_figure_of(&part, false);
        hs_figure_add(&program->live, &live);
        program->alloc_bytes += dump->alloc.bytes;
        program->sort_bytes += size_of(report, dump);
    }
    if (programs) {
        qsort(programs, count, sizeof(*programs), compare_programs);
    }
    *ret_count = count;
    return programs;
}

/* Writes the table of programs, only when a program ran more than once. */
static void write_programs(struct hs_report *report)
{
    const struct hs_table_column columns[] = {
        { "runs", HS_TABLE_RIGHT },
        { report->selection.is_peak_of_all ? "at peak of all" : "largest peak", HS_TABLE_RIGHT },
        { hs_selection_is_at_end(&report->selection) ? "live at end" : "live", HS_TABLE_RIGHT },
        { "", HS_TABLE_LEFT },
        { "allocated", HS_TABLE_RIGHT },
        { "program", HS_TABLE_TEXT },
    };
    uint32_t count;
    struct program *programs = sum_up(report, &count);
    if (programs && count < report->selection.dump_count) {
        uint32_t listed = listed_of(report, count, PROGRAMS_LISTED);
        struct hs_table table;
        char text[HS_FORMAT_INTERVAL_BYTES];
        hs_table_init(&table, columns, HS_COUNT_OF(columns));
        for (uint32_t i = 0; i < listed; i++) {
            const struct program *program = &programs[i];
            hs_table_cell(&table, "%s", hs_human_exact(text, program->count));
            hs_format_value(text, false, program->peak_bytes);
            hs_table_cell(&table, "%s", report->selection.has_peak ? text : "");
            hs_table_cell(&table, "%s", hs_format_value(text, false, program->live.value));
            hs_table_cell(&table, "%s", hs_report_margin(report, text, false, &program->live));
            hs_table_cell(&table, "%s", hs_format_value(text, false, program->alloc_bytes));
            hs_table_cell(&table, "%s", hs_profile_string(report->profile, program->name));
        }
        hs_report_heading(report, "Programs", "the processes of each program, added up");
        finish_table(report, &table, "3 4 2", count - listed);
    }
    free(programs);
}

void hs_report_write_processes(struct hs_report *report)
{
    if (report->selection.dump_count > 1) {
        write_programs(report);
        write_largest(report);
    }
}
