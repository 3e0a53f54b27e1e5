/*
 * The resident memory of each process of several. See report_parts.h.
 *
 *     Processes   the largest first; --pid PID shows one of them
 *          PSS       RSS  not explained  read after   pid  process
 *      12.1 MiB  20.4 MiB        1.1 MiB      2.94 s  4711  worker --fast
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/ledger_sums.h"
#include "rt/base.h"
#include "view/report_parts.h"

#define LISTED_MIN 20U

struct row {
    uint32_t dump; /* index */
    uint64_t start_ns;
    struct hs_ledger_sum all, unexplained;
    uint64_t time_ns;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->all.pss_bytes != y->all.pss_bytes) {
        return x->all.pss_bytes > y->all.pss_bytes ? -1 : 1;
    }
    return x->dump < y->dump ? -1 : x->dump > y->dump;
}

/* Fills in a row for each process that has a ledger. Returns their number, or -ENOMEM. */
static int fill_rows(const struct hs_selection *s, struct row *rows)
{
    const struct hs_profile *p = s->profile;
    int count = 0;
    for (uint32_t i = 0; i < s->dump_count; i++) {
        const struct hs_profile_dump *dump = &p->dumps[s->dumps[i]];
        struct hs_ledger_sums sums;
        if (dump->ledger == 0 || dump->ledger > p->ledger_count) {
            continue;
        }
        int err = hs_ledger_sums_of_one(p, dump->ledger - 1, &sums);
        if (err < 0) {
            return err;
        }
        rows[count++] = (struct row){ .dump = s->dumps[i],
                                      .start_ns = s->start_ns,
                                      .all = sums.all,
                                      .unexplained = sums.unexplained,
                                      .time_ns = sums.time_first_ns };
        hs_ledger_sums_deinit(&sums);
    }
    qsort(rows, (size_t)count, sizeof(rows[0]), compare_rows);
    return count;
}

static void add_row(struct hs_report *report, struct hs_table *table, const struct row *row)
{
    const struct hs_profile *p = report->profile;
    const struct hs_profile_process *process = &p->processes[p->dumps[row->dump].process];
    const char *cmdline = hs_profile_string(p, process->cmdline);
    const char *name = cmdline[0] ? cmdline : hs_profile_string(p, process->name);
    char text[HS_HUMAN_BYTES];
    struct hs_buf command = HS_BUF_INIT;
    hs_table_cell(table, "%s", hs_human_bytes(text, (double)row->all.pss_bytes));
    hs_table_cell(table, "%s", hs_human_bytes(text, (double)row->all.rss_bytes));
    hs_table_cell(table, "%s",
                  row->all.swap_bytes ? hs_human_bytes(text, (double)row->all.swap_bytes) : "");
    hs_table_cell(table, "%s", hs_human_bytes(text, (double)row->unexplained.pss_bytes));
    hs_table_cell(table, "%s",
                  hs_human_duration(text, hs_report_after_ns(row->time_ns, row->start_ns)));
    hs_table_cell(table, "%u", process->pid);
    hs_report_write_on_line(&command, name, strlen(name));
    hs_table_cell(table, "%s", hs_buf_text(&command));
    hs_buf_deinit(&command);
}

int hs_report_write_ledger_processes(struct hs_report *report)
{
    static const struct hs_table_column columns[] = {
        { "PSS", HS_TABLE_RIGHT },        { "RSS", HS_TABLE_RIGHT },
        { "swap", HS_TABLE_RIGHT },       { "not explained", HS_TABLE_RIGHT },
        { "read after", HS_TABLE_RIGHT }, { "pid", HS_TABLE_RIGHT },
        { "process", HS_TABLE_TEXT },
    };
    struct hs_table table;
    struct row *rows = calloc(report->selection.dump_count, sizeof(*rows));
    int count = rows ? fill_rows(&report->selection, rows) : -ENOMEM;
    if (count < 0) {
        free(rows);
        return count;
    }
    uint32_t top = report->options->top_count;
    top = top > LISTED_MIN ? top : LISTED_MIN;
    hs_report_heading(report, "Processes",
                      "largest first, by PSS as it was then; --pid PID shows one of them");
    hs_table_init(&table, columns, HS_COUNT_OF(columns));
    for (uint32_t i = 0; i < (uint32_t)count && i < top; i++) {
        add_row(report, &table, &rows[i]);
    }
    hs_report_write_table(report, &table, "4 3 2 1");
    if ((uint32_t)count > top) {
        hs_buf_printf(report->buf, "  and %u smaller ones; --top N lists more\n",
                      (uint32_t)count - top);
    }
    free(rows);
    return 0;
}
