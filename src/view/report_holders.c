/*
 * Who holds the blocks that a ledger has in its first lines: heaps and functions. See
 * report_parts.h.
 *
 *     Which functions hold the blocks?   live blocks of this profile, 3.40 s after the start
 *      29.7 MiB ± 713 KiB  64.7 %  list_resize
 *      15.3 MiB ±  50 KiB  33.2 %  dict_resize
 */
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/heap_sums.h"
#include "profile/analyse/ledger_sums.h"
#include "rt/base.h"
#include "view/report_parts.h"

#define FUNCTIONS_LISTED 5U

/* Finds what is live in malloc's heap. False: the selection does not have it. */
static bool live_of_malloc(const struct hs_report *report, struct hs_figure *ret_live)
{
    struct hs_heap_sum *sums;
    uint32_t count;
    bool is_found = false;
    if (hs_heap_sums_of(&report->selection, &sums, &count) < 0) {
        return false;
    }
    for (uint32_t i = 0; i < count && !is_found; i++) {
        const char *name = hs_profile_string(report->profile, sums[i].name);
        is_found = strcmp(name, HS_PROFILE_HEAP_MALLOC) == 0;
        *ret_live = hs_figure_of(&sums[i].live, false);
    }
    free(sums);
    return is_found;
}

/* Writes what malloc's own tables say of the blocks, beside what the profile says of them. */
static void write_malloc(struct hs_report *report, const struct hs_ledger_sums *now)
{
    uint64_t start_ns = report->selection.start_ns;
    const struct hs_profile_dump *dump = &report->profile->dumps[report->selection.dumps[0]];
    char size[HS_HUMAN_BYTES], age[HS_HUMAN_BYTES], live_text[HS_FORMAT_INTERVAL_BYTES];
    uint64_t taken_bytes = now->kinds[HS_LEDGER_MALLOC_USED].size_bytes +
                           now->kinds[HS_LEDGER_MALLOC_LARGE].size_bytes;
    struct hs_figure live;
    struct hs_buf text = HS_BUF_INIT;
    if (taken_bytes == 0) {
        return;
    }
    hs_buf_printf(&text,
                  "By its own tables, malloc has given out blocks of %s, with what it adds to "
                  "each.",
                  hs_human_bytes(size, (double)taken_bytes));
    if (report->selection.dump_count == 1 && live_of_malloc(report, &live)) {
        hs_human_duration(age, hs_report_after_ns(dump->time_ns, start_ns));
        hs_buf_printf(
            &text, " The profile has %s of them, as they were %s after the start%s.",
            hs_format_interval(live_text, false, &live), age,
            hs_report_is_from_start(report) ? "" : ", without those from before the recording");
    }
    hs_report_write_wrapped(report, "  ", hs_buf_text(&text));
    hs_buf_deinit(&text);
}

static void add_function(struct hs_report *report, struct hs_table *table,
                         const struct hs_agg_row *row)
{
    char text[HS_FORMAT_INTERVAL_BYTES];
    struct hs_buf name = HS_BUF_INIT, place = HS_BUF_INIT;
    struct hs_figure figure = hs_view_figure(report->view, &row->self);
    hs_table_cell(table, "%s", hs_format_value(text, false, figure.value));
    hs_table_cell(table, "%s", hs_report_margin(report, text, false, &figure));
    hs_table_cell(table, "%s",
                  hs_human_share(text, figure.value, hs_report_value(report, &report->total)));
    hs_agg_write_function(&report->agg, row->function, &name);
    hs_report_write_module(report, &report->agg.functions[row->function], &place);
    hs_table_cell(table, "%s", hs_buf_text(&name));
    hs_table_cell(table, "%s", hs_buf_text(&place));
    hs_buf_deinit(&name);
    hs_buf_deinit(&place);
}

static void write_functions(struct hs_report *report)
{
    static const struct hs_table_column columns[] = {
        { "live", HS_TABLE_RIGHT },    { "", HS_TABLE_LEFT }, { "", HS_TABLE_RIGHT },
        { "function", HS_TABLE_NAME }, { "", HS_TABLE_NOTE },
    };
    uint32_t top = report->options->top_count;
    struct hs_table table;
    top = top == HS_REPORT_ALL || top < FUNCTIONS_LISTED ? top : FUNCTIONS_LISTED;
    hs_agg_sort_functions(report->rows, report->row_count, report->view, HS_AGG_BY_SELF);
    hs_table_init(&table, columns, HS_COUNT_OF(columns));
    for (uint32_t i = 0; i < report->row_count && i < top; i++) {
        if (hs_report_value(report, &report->rows[i].self) > 0) {
            add_function(report, &table, &report->rows[i]);
        }
    }
    hs_report_write_table(report, &table, "2 1");
}

int hs_report_write_holders(struct hs_report *report, const struct hs_ledger_sums *now)
{
    hs_report_heading(report, "Which functions hold the blocks?",
                      "the live blocks of this profile; heapscope report has their stacks");
    write_malloc(report, now);
    if (hs_report_value(report, &report->total) > 0 && report->agg.self_count > 0) {
        write_functions(report);
    } else {
        hs_report_write_wrapped(report, "  ", "This snapshot has no live blocks with stacks.");
    }
    hs_report_write_heaps(report);
    return 0;
}
