/*
 * What of the resident memory changed: in few parts, and why. See diff_view.h.
 *
 *     Resident memory   12.1 MiB before, 30.3 MiB after
 *       +10.5 MiB   memory that malloc keeps free
 *       +7.50 MiB   blocks from malloc
 *       Most of that is no leak: ...
 */
#include "view/diff_ledger.h"

#include <math.h>
#include <stdlib.h>

#include "profile/analyse/rss_verdict.h"
#include "util/human.h"
#include "util/json.h"
#include "util/table.h"
#include "view/wrapped.h"

/* Smaller changes are left out: of this share of the larger side, or of this many bytes. */
#define SHARE_MIN 0.01
#define BYTES_MIN 65536.0

double hs_diff_ledger_least(const struct hs_ledger_diff *diff)
{
    uint64_t before = diff->all.bytes[HS_DIFF_BEFORE], after = diff->all.bytes[HS_DIFF_AFTER];
    double least = SHARE_MIN * (double)(before > after ? before : after);
    return least < BYTES_MIN ? BYTES_MIN : least;
}

struct hs_rss_growth hs_diff_ledger_growth(const struct hs_ledger_diff *diff)
{
    const struct hs_ledger_sums *before = &diff->sums[HS_DIFF_BEFORE];
    const struct hs_ledger_sums *after = &diff->sums[HS_DIFF_AFTER];
    struct hs_rss_growth growth = {
        .all_bytes = diff->all.delta_bytes,
        .top_bytes = diff->kinds[HS_LEDGER_MALLOC_TOP].delta_bytes,
        .least_bytes = hs_diff_ledger_least(diff),
        .arenas_before = before->arena_count,
        .arenas_after = after->arena_count,
        .process_count = after->process_count,
        .threads_before = before->kinds[HS_LEDGER_STACK].count,
        .threads_after = after->kinds[HS_LEDGER_STACK].count,
        .trim_bytes = after->trim_bytes,
    };
    for (unsigned part = 0; part < HS_LEDGER_PARTS; part++) {
        growth.parts_bytes[part] = diff->parts[part].delta_bytes;
    }
    return growth;
}

void hs_diff_ledger_write_verdict(const struct hs_ledger_diff *diff,
                                  const struct hs_diff_options *options, struct hs_buf *buf)
{
    struct hs_rss_growth growth = hs_diff_ledger_growth(diff);
    struct hs_buf text = HS_BUF_INIT;
    hs_rss_verdict_write(&growth, "", &text);
    hs_rss_advice_write(&growth, &text);
    hs_rss_where_write(&growth, &text);
    hs_wrapped_write(buf, "  ", options->columns, hs_buf_text(&text));
    hs_buf_deinit(&text);
}

static int compare_changes(const void *a, const void *b)
{
    const struct hs_ledger_change *x = a, *y = b;
    double of_x = fabs(x->delta_bytes), of_y = fabs(y->delta_bytes);
    return of_x > of_y ? -1 : of_x < of_y ? 1 : (int)x->kind - (int)y->kind;
}

void hs_diff_ledger_sort_parts(const struct hs_ledger_diff *diff,
                               struct hs_ledger_change ret_parts[HS_LEDGER_PARTS])
{
    for (unsigned part = 0; part < HS_LEDGER_PARTS; part++) {
        ret_parts[part] = diff->parts[part];
    }
    qsort(ret_parts, HS_LEDGER_PARTS, sizeof(ret_parts[0]), compare_changes);
}

static void write_changes(const struct hs_ledger_diff *diff, const struct hs_diff_options *options,
                          struct hs_buf *buf)
{
    static const struct hs_table_column columns[] = { { "", HS_TABLE_RIGHT },
                                                      { "", HS_TABLE_TEXT } };
    struct hs_ledger_change parts[HS_LEDGER_PARTS];
    struct hs_table table;
    char cell[HS_DIFF_CELL_BYTES];
    double least = hs_diff_ledger_least(diff);
    hs_diff_ledger_sort_parts(diff, parts);
    hs_table_init(&table, columns, HS_COUNT_OF(columns));
    for (unsigned i = 0; i < HS_LEDGER_PARTS && fabs(parts[i].delta_bytes) >= least; i++) {
        hs_table_cell(&table, "%s", hs_diff_signed(cell, false, parts[i].delta_bytes));
        hs_table_cell(&table, "%s", hs_ledger_part_words((enum hs_ledger_part_kind)parts[i].kind));
    }
    hs_table_write(&table, buf,
                   &(struct hs_table_style){ .indent = 2,
                                             .columns = options->columns,
                                             .has_colour = options->has_colour });
    hs_table_deinit(&table);
}

static void write_advice(const struct hs_ledger_diff *diff, const struct hs_diff_options *options,
                         struct hs_buf *buf)
{
    struct hs_rss_growth growth = hs_diff_ledger_growth(diff);
    struct hs_buf text = HS_BUF_INIT;
    hs_rss_advice_write(&growth, &text);
    hs_rss_where_write(&growth, &text);
    if (hs_buf_text(&text)[0]) {
        hs_wrapped_write(buf, "  ", options->columns, hs_buf_text(&text));
    }
    hs_buf_deinit(&text);
}

int hs_diff_write_ledger(const struct hs_diff_options *options, struct hs_buf *buf)
{
    struct hs_ledger_diff diff;
    char before[HS_HUMAN_BYTES], after[HS_HUMAN_BYTES];
    int err = hs_ledger_diff_build(options->selections[HS_DIFF_BEFORE],
                                   options->selections[HS_DIFF_AFTER], &diff);
    if (err < 0) {
        return err;
    }
    if (diff.is_whole) {
        hs_buf_printf(buf, "\nResident memory%s   %s before, %s after; --rss shows more\n",
                      diff.is_pss ? " (PSS)" : "",
                      hs_human_bytes(before, (double)diff.all.bytes[HS_DIFF_BEFORE]),
                      hs_human_bytes(after, (double)diff.all.bytes[HS_DIFF_AFTER]));
        write_changes(&diff, options, buf);
        write_advice(&diff, options, buf);
    }
    hs_ledger_diff_deinit(&diff);
    return 0;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void write_bytes(struct hs_json *json, const struct hs_ledger_change *change)
{
    hs_json_kv_uint(json, "before_bytes", change->bytes[HS_DIFF_BEFORE]);
    hs_json_kv_uint(json, "after_bytes", change->bytes[HS_DIFF_AFTER]);
}

static void write_json_parts(const struct hs_ledger_diff *diff, struct hs_json *json)
{
    hs_json_key(json, "parts");
    hs_json_open(json, '[');
    for (unsigned i = 0; i < HS_LEDGER_PARTS; i++) {
        hs_json_open_inline(json, '{');
        hs_json_kv_string(json, "part", hs_ledger_part_key((enum hs_ledger_part_kind)i));
        hs_json_kv_string(json, "name", hs_ledger_part_words((enum hs_ledger_part_kind)i));
        write_bytes(json, &diff->parts[i]);
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
    hs_json_key(json, "lines");
    hs_json_open(json, '[');
    for (size_t i = 0; i < diff->line_count; i++) {
        hs_json_open_inline(json, '{');
        hs_json_kv_string(json, "kind", hs_ledger_kind_key(diff->lines[i].kind));
        if (diff->lines[i].name[0]) {
            hs_json_kv_string(json, "name", diff->lines[i].name);
        }
        write_bytes(json, &diff->lines[i]);
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
}

int hs_diff_json_ledger(const struct hs_diff_options *options, struct hs_json *json)
{
    struct hs_ledger_diff diff;
    int err = hs_ledger_diff_build(options->selections[HS_DIFF_BEFORE],
                                   options->selections[HS_DIFF_AFTER], &diff);
    if (err < 0) {
        return err;
    }
    if (diff.is_known) {
        struct hs_rss_growth growth = hs_diff_ledger_growth(&diff);
        struct hs_buf text = HS_BUF_INIT;
        hs_rss_verdict_write(&growth, "", &text);
        hs_rss_advice_write(&growth, &text);
        hs_json_key(json, "resident");
        hs_json_open(json, '{');
        hs_json_kv_string(json, "measure", diff.is_pss ? "pss" : "rss");
        hs_json_kv_bool(json, "is_whole", diff.is_whole);
        write_bytes(json, &diff.all);
        hs_json_kv_string(json, "cause", hs_rss_cause_key(hs_rss_cause_of(&growth)));
        hs_json_kv_string(json, "verdict", hs_buf_text(&text));
        hs_json_kv_uint(json, "unexplained_before_bytes", diff.unexplained.bytes[HS_DIFF_BEFORE]);
        hs_json_kv_uint(json, "unexplained_after_bytes", diff.unexplained.bytes[HS_DIFF_AFTER]);
        hs_json_kv_uint(json, "arenas_before", growth.arenas_before);
        hs_json_kv_uint(json, "arenas_after", growth.arenas_after);
        hs_json_kv_uint(json, "trim_bytes", growth.trim_bytes);
        write_json_parts(&diff, json);
        hs_json_close(json, '}');
        hs_buf_deinit(&text);
    }
    hs_ledger_diff_deinit(&diff);
    return 0;
}
