/*
 * The comparison of resident memory, line by line. See diff_view.h.
 *
 *     Difference in resident memory (RSS)
 *       before  12.1 MiB   a.pftrace, 1.20 s after the start
 *       after   30.3 MiB   b.pftrace, 9.70 s after the start
 *       Resident memory grew by 18.2 MiB: memory that malloc keeps free +17.2 MiB, ...
 *
 *          change    before     after  consists of
 *       +17.2 MiB  1.00 MiB  18.2 MiB  memory that malloc keeps free
 *       +16.1 MiB  0.10 MiB  16.2 MiB      malloc: free, in the lists of arenas
 *       ...
 *       +18.2 MiB  12.1 MiB  30.3 MiB  in all
 */
#include <math.h>
#include <string.h>

#include "rt/base.h"
#include "util/human.h"
#include "util/json.h"
#include "util/table.h"
#include "util/utf8.h"
#include "view/diff_ledger.h"
#include "view/ledger_words.h"
#include "view/wrapped.h"

#define FORMAT 1

static void write_side(const struct hs_ledger_diff *diff, const struct hs_diff_options *options,
                       int side, struct hs_buf *buf)
{
    const struct hs_ledger_sums *sums = &diff->sums[side];
    uint64_t start_ns = options->selections[side]->start_ns;
    uint64_t age_ns = sums->time_last_ns > start_ns ? sums->time_last_ns - start_ns : 0;
    char size[HS_HUMAN_BYTES], age[HS_HUMAN_BYTES];
    hs_buf_printf(buf, "  %-7s %s   ", side == HS_DIFF_BEFORE ? "before" : "after",
                  hs_human_bytes(size, (double)diff->all.bytes[side]));
    hs_utf8_write(buf, options->names[side], strlen(options->names[side]));
    if (sums->process_count > 1) {
        hs_buf_printf(buf, ", %u processes", sums->process_count);
    }
    hs_buf_printf(buf, ", read %s after the start", hs_human_duration(age, age_ns));
    if (sums->missing_count > 0) {
        hs_buf_printf(buf, ", without %u process%s whose memory was not read", sums->missing_count,
                      sums->missing_count == 1 ? "" : "es");
    }
    hs_buf_char(buf, '\n');
}

static void add_row(struct hs_table *table, const struct hs_ledger_change *change, const char *text)
{
    char cell[HS_DIFF_CELL_BYTES], size[HS_HUMAN_BYTES];
    hs_table_cell(table, "%s", hs_diff_signed(cell, false, change->delta_bytes));
    hs_table_cell(table, "%s", hs_human_bytes(size, (double)change->bytes[HS_DIFF_BEFORE]));
    hs_table_cell(table, "%s", hs_human_bytes(size, (double)change->bytes[HS_DIFF_AFTER]));
    hs_table_cell(table, "%s", text);
}

static bool is_shown(const struct hs_ledger_diff *diff, const struct hs_diff_options *options,
                     const struct hs_ledger_change *change)
{
    return options->top_count == HS_DIFF_ALL
               ? change->bytes[HS_DIFF_BEFORE] + change->bytes[HS_DIFF_AFTER] > 0
               : fabs(change->delta_bytes) >= hs_diff_ledger_least(diff);
}

/*
 * Does the row of a part say the same as the row of its line? That of malloc's free memory does
 * not: it lies in several places.
 */
static bool is_repeated(const struct hs_ledger_diff *diff, const struct hs_ledger_change *line)
{
    enum hs_ledger_part_kind part = hs_ledger_part_of(line->kind);
    double other_bytes = diff->parts[part].delta_bytes - line->delta_bytes;
    return line->name[0] == '\0' && part != HS_LEDGER_PART_FREE &&
           fabs(other_bytes) < hs_diff_ledger_least(diff);
}

/* Adds a row for each line of a part, if that says more than the row of the part. */
static void add_lines(struct hs_table *table, const struct hs_ledger_diff *diff,
                      const struct hs_diff_options *options, uint32_t part)
{
    uint32_t shown = 0;
    for (size_t i = 0; i < diff->line_count && shown < options->top_count; i++) {
        const struct hs_ledger_change *line = &diff->lines[i];
        struct hs_buf text = HS_BUF_INIT;
        if (hs_ledger_part_of(line->kind) != part || !is_shown(diff, options, line) ||
            (is_repeated(diff, line) && options->top_count != HS_DIFF_ALL)) {
            continue;
        }
        hs_buf_printf(&text, "    %s%s", hs_ledger_words_of(line->kind), line->name[0] ? ": " : "");
        hs_utf8_write(&text, line->name, strlen(line->name));
        add_row(table, line, hs_buf_text(&text));
        hs_buf_deinit(&text);
        shown++;
    }
}

static void write_table(const struct hs_ledger_diff *diff, const struct hs_diff_options *options,
                        struct hs_buf *buf)
{
    static const struct hs_table_column columns[] = {
        { "change", HS_TABLE_RIGHT },
        { "before", HS_TABLE_RIGHT },
        { "after", HS_TABLE_RIGHT },
        { "consists of", HS_TABLE_TEXT },
    };
    struct hs_ledger_change parts[HS_LEDGER_PARTS], rest = { 0 };
    struct hs_table table;
    hs_diff_ledger_sort_parts(diff, parts);
    hs_table_init(&table, columns, HS_COUNT_OF(columns));
    for (unsigned i = 0; i < HS_LEDGER_PARTS; i++) {
        if (is_shown(diff, options, &parts[i])) {
            add_row(&table, &parts[i],
                    hs_ledger_part_words((enum hs_ledger_part_kind)parts[i].kind));
            add_lines(&table, diff, options, parts[i].kind);
            continue;
        }
        for (int side = 0; side < HS_DIFF_SIDE_N; side++) {
            rest.bytes[side] += parts[i].bytes[side];
        }
        rest.delta_bytes += parts[i].delta_bytes;
    }
    if (rest.bytes[HS_DIFF_BEFORE] + rest.bytes[HS_DIFF_AFTER] > 0) {
        add_row(&table, &rest, "what changed little; --top all lists it");
    }
    add_row(&table, &diff->all, "in all");
    add_row(&table, &diff->unexplained, "not explained, of all of these");
    hs_diff_write_table(&table, options->columns, options->has_colour, "1", buf);
    hs_table_deinit(&table);
}

int hs_diff_write_rss(const struct hs_diff_options *options, struct hs_buf *buf)
{
    struct hs_ledger_diff diff;
    int err = hs_ledger_diff_build(options->selections[HS_DIFF_BEFORE],
                                   options->selections[HS_DIFF_AFTER], &diff);
    if (err < 0) {
        return err;
    }
    if (diff.is_known) {
        hs_buf_printf(buf, "Difference in resident memory (%s)\n", diff.is_pss ? "PSS" : "RSS");
        write_side(&diff, options, HS_DIFF_BEFORE, buf);
        write_side(&diff, options, HS_DIFF_AFTER, buf);
        hs_diff_ledger_write_verdict(&diff, options, buf);
        hs_buf_char(buf, '\n');
        write_table(&diff, options, buf);
    } else {
        hs_wrapped_write(buf, "", options->columns,
                         "One of the two does not say what its resident memory consisted of: the "
                         "memory was not read while the process ran.");
    }
    hs_ledger_diff_deinit(&diff);
    return buf->err;
}

int hs_diff_write_rss_json(const struct hs_diff_options *options, struct hs_buf *buf)
{
    struct hs_json json;
    hs_json_init(&json, buf, 1);
    hs_json_open(&json, '{');
    hs_json_kv_uint(&json, "format", FORMAT);
    hs_json_kv_string(&json, "before", options->names[HS_DIFF_BEFORE]);
    hs_json_kv_string(&json, "after", options->names[HS_DIFF_AFTER]);
    int err = hs_diff_json_ledger(options, &json);
    hs_json_close(&json, '}');
    hs_buf_char(buf, '\n');
    return err ? err : buf->err;
}
