/* The head of the report: what ran, what was measured, how precisely. See report_parts.h. */
#include <stdio.h>
#include <string.h>

#include "profile/analyse/ledger_sums.h"
#include "profile/analyse/peak_overlap.h"
#include "profile/model/describe.h"
#include "rt/base.h"
#include "util/utf8.h"
#include "view/report_parts.h"

/* How wide a terminal must be for the remarks of the table, and for the margins of counts. */
#define REMARK_COLUMNS_MIN       110
#define COUNT_MARGIN_COLUMNS_MIN 80

static const struct hs_profile_dump *first_dump(const struct hs_report *report)
{
    return &report->profile->dumps[report->selection.dumps[0]];
}

/* Finds the process that gives the report its title: the one that started first. */
static uint32_t root_process(const struct hs_report *report)
{
    const struct hs_profile *p = report->profile;
    const struct hs_selection *s = &report->selection;
    uint32_t root = first_dump(report)->process;
    for (uint32_t i = 1; i < s->dump_count; i++) {
        uint32_t process = p->dumps[s->dumps[i]].process;
        if (p->processes[process].start_ns < p->processes[root].start_ns) {
            root = process;
        }
    }
    return root;
}

static void write_text(struct hs_buf *buf, const char *text)
{
    hs_utf8_write(buf, text, strlen(text));
}

static const char *process_name(const struct hs_profile *p, uint32_t process)
{
    const char *name = hs_profile_string(p, p->processes[process].name);
    return name[0] ? name : "unknown program";
}

/* Writes what follows the name: ", from a pprof profile of 30 s". */
static void describe_origin(const struct hs_report *report, struct hs_buf *buf)
{
    const struct hs_profile *p = report->profile;
    const struct hs_selection *s = &report->selection;
    uint32_t pid = p->processes[root_process(report)].pid;
    char duration[HS_HUMAN_BYTES];
    if (pid != 0) {
        hs_buf_printf(buf, " (pid %u)", pid);
    }
    if (s->dump_count > 1) {
        hs_buf_printf(buf, " and %u more process%s", s->dump_count - 1,
                      s->dump_count == 2 ? "" : "es");
    }
    hs_buf_printf(buf, ", from %s", p->origin);
    if (s->end_ns > s->start_ns) {
        hs_buf_printf(buf, " of %s", hs_human_duration(duration, s->end_ns - s->start_ns));
    }
}

/* Writes what follows the name: " (pid 4242) exited with status 0 after 12.3 s". */
static void describe_run(const struct hs_report *report, struct hs_buf *buf)
{
    const struct hs_profile *p = report->profile;
    const struct hs_selection *s = &report->selection;
    uint32_t process = root_process(report);
    char duration[HS_HUMAN_BYTES];
    hs_human_duration(duration, s->end_ns > s->start_ns ? s->end_ns - s->start_ns : 0);
    if (p->origin) {
        describe_origin(report, buf);
        return;
    }
    hs_buf_printf(buf, " (pid %u)", p->processes[process].pid);
    if (s->dump_count > 1) {
        hs_buf_printf(buf, " and %u more process%s in %s", s->dump_count - 1,
                      s->dump_count == 2 ? "" : "es", duration);
    } else if (p->processes[process].refusal != 0) {
        hs_buf_str(buf, " was not profiled");
    } else {
        const struct hs_profile_dump *dump = first_dump(report);
        if (dump->is_final || p->processes[process].last_dump == s->dumps[0]) {
            hs_buf_char(buf, ' ');
            hs_describe_end_predicate(p, process, buf);
            hs_buf_printf(buf, " after %s", duration);
        } else {
            hs_buf_printf(buf, " at snapshot %u, %s after the start", dump->index, duration);
        }
        if (!p->processes[process].is_from_startup) {
            hs_buf_str(buf, "; the recording began some time after the process had started");
        }
        if (p->processes[process].forked_from_pid != 0) {
            hs_buf_printf(buf, ", forked from %u", p->processes[process].forked_from_pid);
        }
    }
}

static void write_title(struct hs_report *report)
{
    struct hs_buf *buf = report->buf;
    bool has_colour = report->options->has_colour;
    const char *name = process_name(report->profile, root_process(report));
    struct hs_buf rest = HS_BUF_INIT;
    describe_run(report, &rest);
    const char *text = hs_buf_text(&rest);
    if (hs_report_fits(report,
                       hs_utf8_columns(name, strlen(name)) + hs_utf8_columns(text, strlen(text)))) {
        hs_text_style(buf, has_colour, HS_TEXT_BOLD);
        write_text(buf, name);
        hs_text_style(buf, has_colour, HS_TEXT_PLAIN);
        hs_buf_printf(buf, "%s\n", text);
    } else {
        struct hs_buf whole = HS_BUF_INIT;
        hs_buf_printf(&whole, "%s%s", name, text);
        hs_report_write_wrapped(report, "", hs_buf_text(&whole));
        hs_buf_deinit(&whole);
    }
    hs_buf_deinit(&rest);
}

void hs_report_write_on_line(struct hs_buf *buf, const char *text, size_t bytes)
{
    for (size_t from = 0; from < bytes;) {
        size_t bytes_here = strcspn(text + from, "\n\t\r");
        bytes_here = bytes_here > bytes - from ? bytes - from : bytes_here;
        hs_utf8_write(buf, text + from, bytes_here);
        from += bytes_here;
        if (from < bytes) {
            hs_buf_char(buf, ' ');
            from++;
        }
    }
}

static void write_command(struct hs_report *report)
{
    const struct hs_profile *p = report->profile;
    const char *cmdline = hs_profile_string(p, p->processes[root_process(report)].cmdline);
    if (cmdline[0] == '\0') {
        return;
    }
    size_t bytes = strlen(cmdline);
    size_t columns = report->options->columns;
    size_t fit = columns == 0 ? bytes : hs_utf8_fit(cmdline, bytes, columns > 3 ? columns - 3 : 0);
    hs_buf_str(report->buf, "  ");
    hs_report_write_on_line(report->buf, cmdline, fit);
    hs_buf_str(report->buf, fit < bytes ? "…\n" : "\n");
}

static bool has_room_for_remarks(const struct hs_report *report)
{
    return report->options->columns == 0 || report->options->columns >= REMARK_COLUMNS_MIN;
}

static void add_total(const struct hs_report *report, struct hs_table *table, const char *label,
                      const struct hs_amount *amount, const char *remark)
{
    char text[HS_FORMAT_INTERVAL_BYTES];
    hs_table_cell(table, "%s", label);
    hs_table_cell(table, "%s", hs_format_value(text, false, amount->bytes));
    struct hs_figure figure = hs_figure_of(amount, false);
    bool is_lossy = report->selection.is_lossy;
    hs_table_cell(table, "%s", is_lossy ? "at least" : hs_format_margin(text, false, &figure));
    /* The file does not say how many objects there are. */
    bool has_count = amount->count > 0 || !(amount->bytes > 0);
    hs_table_cell(table, "%s", has_count ? hs_format_value(text, true, amount->count) : "");
    figure = hs_figure_of(amount, true);
    hs_format_margin(text, true, &figure);
    bool has_margin =
        has_count && text[0] && !is_lossy && hs_report_fits(report, COUNT_MARGIN_COLUMNS_MIN);
    hs_table_cell(table, "%s%s%s", has_margin ? text : "", has_margin ? " " : "",
                  !has_count                  ? ""
                  : amount->has_sample_counts ? "samples"
                                              : "objects");
    hs_table_cell(table, "%s", has_room_for_remarks(report) ? remark : "");
}

static void add_peak(struct hs_report *report, struct hs_table *table)
{
    const struct hs_selection *s = &report->selection;
    const struct hs_profile_dump *dump = first_dump(report);
    char duration[HS_HUMAN_BYTES];
    char remark[80] = "";
    if (s->is_peak_of_several) {
        snprintf(remark, sizeof(remark), "sum of the peaks of all processes, at different times");
    } else if (s->dump_count == 1 && dump->peak_time_ns > s->start_ns) {
        hs_human_duration(duration, dump->peak_time_ns - s->start_ns);
        snprintf(remark, sizeof(remark), "%s after the start", duration);
    }
    const char *label = s->is_peak_of_several ? "peaks" : "peak";
    if (s->is_peak_of_all) {
        label = s->is_peak_of_several ? "at peaks of all heaps" : "at peak of all heaps";
    }
    add_total(report, table, label, &s->peak, remark);
}

/* Says that the sum of the processes' peaks was not live at any one moment. */
static void write_overlap(struct hs_report *report)
{
    struct hs_peak_overlap overlap;
    char low[HS_HUMAN_BYTES], high[HS_HUMAN_BYTES], sum[HS_HUMAN_BYTES];
    const struct hs_selection *s = &report->selection;
    if (!s->has_peak || !s->is_peak_of_several || s->is_peak_of_all) {
        return;
    }
    int err = hs_peak_overlap_of(s, &overlap);
    if (err < 0) {
        report->buf->err = report->buf->err ? report->buf->err : err;
        return;
    }
    struct hs_buf text = HS_BUF_INIT;
    hs_human_bytes(low, overlap.low_bytes);
    hs_human_bytes(high, overlap.high_bytes);
    hs_buf_printf(&text, "the peaks of %u processes, at different times, add up to %s; ",
                  overlap.process_count, hs_human_bytes(sum, s->peak.bytes));
    if (strcmp(low, high) == 0) {
        hs_buf_printf(&text, "at most %s were live at any one time", high);
    } else {
        hs_buf_printf(&text, "the most that was live at any one time is between %s and %s", low,
                      high);
    }
    hs_report_write_wrapped(report, "  ", hs_buf_text(&text));
    hs_buf_deinit(&text);
}

/* Of several processes: their last readings, with shared memory divided among them. */
static void add_rss_of_several(struct hs_report *report, struct hs_table *table)
{
    struct hs_ledger_sums sums;
    char size[HS_HUMAN_BYTES], rss[HS_HUMAN_BYTES];
    int err = hs_ledger_sums_of(&report->selection, false, &sums);
    if (err < 0) {
        report->buf->err = report->buf->err ? report->buf->err : err;
        return;
    }
    if (sums.process_count > 0) {
        struct hs_buf remark = HS_BUF_INIT;
        hs_human_bytes(rss, (double)sums.all.rss_bytes);
        if (sums.process_count == 1) {
            hs_buf_printf(&remark, "PSS of one process; its RSS is %s", rss);
        } else {
            hs_buf_printf(&remark, "PSS of %u processes; the sum of RSS is %s", sums.process_count,
                          rss);
        }
        hs_table_cell(table, "resident");
        hs_table_cell(table, "%s", hs_human_bytes(size, (double)sums.all.pss_bytes));
        hs_table_cell(table, "%s", "");
        hs_table_cell(table, "%s", "");
        hs_table_cell(table, "%s", "");
        hs_table_cell(table, "%s", has_room_for_remarks(report) ? hs_buf_text(&remark) : "");
        hs_buf_deinit(&remark);
    }
    hs_ledger_sums_deinit(&sums);
}

static void add_rss(struct hs_report *report, struct hs_table *table)
{
    const struct hs_profile_dump *dump = first_dump(report);
    if (report->selection.dump_count > 1) {
        add_rss_of_several(report, table);
        return;
    }
    if (dump->rss_bytes == 0 && dump->rss_peak_bytes == 0) {
        return;
    }
    char now[HS_HUMAN_BYTES];
    char most[HS_HUMAN_BYTES];
    hs_human_bytes(now, (double)dump->rss_bytes);
    hs_human_bytes(most, (double)dump->rss_peak_bytes);
    hs_table_cell(table, dump->rss_bytes ? "resident" : "peak RSS");
    hs_table_cell(table, "%s", dump->rss_bytes ? now : most);
    hs_table_cell(table, "%s", "");
    hs_table_cell(table, "%s", "");
    hs_table_cell(table, "%s", "");
    if (!has_room_for_remarks(report)) {
        hs_table_cell(table, "%s", "");
    } else if (dump->rss_bytes && dump->rss_peak_bytes) {
        hs_table_cell(table, "whole process; highest %s", most);
    } else {
        hs_table_cell(table, "whole process");
    }
}

/*
 * Says how much was resident when the recording began. Which allocations that was is not known.
 */
static void write_before(struct hs_report *report)
{
    const struct hs_profile_dump *dump = first_dump(report);
    char before[HS_HUMAN_BYTES];
    struct hs_buf text = HS_BUF_INIT;
    if (report->selection.dump_count > 1 || dump->rss_start_bytes == 0) {
        return;
    }
    hs_human_bytes(before, (double)dump->rss_start_bytes);
    hs_buf_printf(
        &text,
        "%s were resident when the recording began; blocks that were allocated before are not "
        "in this profile, and freeing them is ignored",
        before);
    hs_report_write_wrapped(report, "  ", hs_buf_text(&text));
    hs_buf_deinit(&text);
}

/* Says by how much the figures are too low, as far as that is known. */
void hs_report_write_missing(struct hs_report *report)
{
    const struct hs_selection *s = &report->selection;
    char number[HS_HUMAN_BYTES];
    char size[HS_HUMAN_BYTES];
    struct hs_buf text = HS_BUF_INIT;
    const char *about = s->interval_max_bytes == 1 ? "" : "about ";
    if (s->missing_alloc_count > 0) {
        double count = s->missing_alloc_count < 1e18 ? s->missing_alloc_count + 0.5 : 1e18;
        hs_buf_printf(&text, "%s%s allocations (%s%s) are missing from these figures", about,
                      hs_human_exact(number, (uint64_t)count), about,
                      hs_human_bytes(size, s->missing_bytes));
        hs_report_warn(report, hs_buf_text(&text), 0);
    }
    hs_buf_deinit(&text);
}

/* Says that memory that several processes inherited counts in each of them. */
static void write_forks(struct hs_report *report)
{
    const struct hs_profile *p = report->profile;
    const struct hs_selection *s = &report->selection;
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->dump_count; i++) {
        count += p->dumps[s->dumps[i]].has_inherited;
    }
    if (count == 0 || s->dump_count == 1) {
        return;
    }
    struct hs_buf text = HS_BUF_INIT;
    hs_buf_printf(
        &text,
        "%u of the processes %s forked and inherited the blocks of the parent: an inherited "
        "block is counted in each process that has it, although most of that memory may "
        "be shared",
        count, count == 1 ? "was" : "were");
    hs_report_write_wrapped(report, "  ", hs_buf_text(&text));
    hs_buf_deinit(&text);
}

/* The paragraphs below the table. */
static void write_notes(struct hs_report *report)
{
    write_overlap(report);
    hs_report_write_heap_words(report);
    hs_report_write_left_out(report);
    write_before(report);
    hs_report_write_counters(report);
    hs_report_write_sampling(report);
    hs_report_write_changes(report);
    hs_report_write_block_words(report);
    write_forks(report);
}

void hs_report_write_head(struct hs_report *report)
{
    static const struct hs_table_column columns[] = {
        { "", HS_TABLE_LEFT },  { "", HS_TABLE_RIGHT }, { "", HS_TABLE_LEFT },
        { "", HS_TABLE_RIGHT }, { "", HS_TABLE_LEFT },  { "", HS_TABLE_LEFT },
    };
    const struct hs_selection *s = &report->selection;
    write_title(report);
    write_command(report);
    hs_buf_char(report->buf, '\n');

    struct hs_table table;
    hs_table_init(&table, columns, HS_COUNT_OF(columns));
    if (s->has_peak) {
        add_peak(report, &table);
    }
    bool is_end = hs_selection_is_at_end(s);
    add_total(report, &table, is_end ? "live at end" : "live", &s->live,
              s->dump_count == 1 ? ""
              : is_end           ? "sum over all processes, each at its own end"
                                 : "sum over all processes, each at its own snapshot");
    add_total(report, &table, "allocated", &s->alloc, "");
    add_rss(report, &table);
    hs_table_write(&table, report->buf,
                   &(struct hs_table_style){ .indent = 2,
                                             .columns = report->options->columns,
                                             .has_colour = report->options->has_colour,
                                             .give_way = "5 43 2" });
    hs_table_deinit(&table);
    write_notes(report);
    hs_report_write_missing(report);
}

void hs_report_write_head_words(struct hs_report *report)
{
    struct hs_buf title = HS_BUF_INIT;
    hs_buf_str(&title, process_name(report->profile, root_process(report)));
    describe_run(report, &title);
    hs_report_write_wrapped(report, "", hs_buf_text(&title));
    hs_buf_deinit(&title);
    write_notes(report);
}
