/*
 * What of the resident memory changed. See diff_view.h.
 *
 *     Resident memory   12.1 MiB before, 30.3 MiB after
 *       +10.5 MiB   memory that malloc keeps free
 *       +7.50 MiB   blocks from malloc
 */
#include <math.h>
#include <stdlib.h>

#include "profile/analyse/ledger_parts.h"
#include "util/human.h"
#include "util/json.h"
#include "util/table.h"
#include "view/diff_view.h"

/* Smaller changes are left out: of this share of the larger side, or of this many bytes. */
#define SHARE_MIN 0.01
#define BYTES_MIN 65536.0

struct sides {
    struct hs_ledger_sums sums[HS_DIFF_SIDE_N];
    struct hs_ledger_part parts[HS_DIFF_SIDE_N][HS_LEDGER_PARTS];
};

static int read_sides(const struct hs_diff_options *options, struct sides *sides)
{
    int err = 0;
    for (int side = 0; side < HS_DIFF_SIDE_N && err == 0; side++) {
        err = hs_ledger_sums_of(options->selections[side], false, &sides->sums[side]);
        if (err == 0) {
            hs_ledger_parts_of(&sides->sums[side], sides->parts[side]);
        }
    }
    return err;
}

static void free_sides(struct sides *sides)
{
    for (int side = 0; side < HS_DIFF_SIDE_N; side++) {
        hs_ledger_sums_deinit(&sides->sums[side]);
    }
}

/* Does each process of both sides have a ledger? */
static bool are_whole(const struct sides *sides)
{
    for (int side = 0; side < HS_DIFF_SIDE_N; side++) {
        if (sides->sums[side].process_count == 0 || sides->sums[side].missing_count > 0) {
            return false;
        }
    }
    return true;
}

struct change {
    const char *words;
    double bytes;
};

static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    double of_x = fabs(x->bytes), of_y = fabs(y->bytes);
    return of_x > of_y ? -1 : of_x < of_y;
}

static void write_changes(const struct sides *sides, const struct hs_diff_options *options,
                          struct hs_buf *buf)
{
    static const struct hs_table_column columns[] = { { "", HS_TABLE_RIGHT },
                                                      { "", HS_TABLE_TEXT } };
    double before_bytes = (double)sides->sums[HS_DIFF_BEFORE].all.rss_bytes;
    double after_bytes = (double)sides->sums[HS_DIFF_AFTER].all.rss_bytes;
    double least = SHARE_MIN * (before_bytes > after_bytes ? before_bytes : after_bytes);
    struct change changes[HS_LEDGER_PARTS];
    struct hs_table table;
    char cell[HS_DIFF_CELL_BYTES];
    least = least < BYTES_MIN ? BYTES_MIN : least;
    for (size_t i = 0; i < HS_LEDGER_PARTS; i++) {
        changes[i].words = sides->parts[HS_DIFF_AFTER][i].words;
        changes[i].bytes = (double)sides->parts[HS_DIFF_AFTER][i].rss_bytes -
                           (double)sides->parts[HS_DIFF_BEFORE][i].rss_bytes;
    }
    qsort(changes, HS_LEDGER_PARTS, sizeof(changes[0]), compare_changes);
    hs_table_init(&table, columns, HS_COUNT_OF(columns));
    for (size_t i = 0; i < HS_LEDGER_PARTS && fabs(changes[i].bytes) >= least; i++) {
        hs_table_cell(&table, "%s", hs_diff_signed(cell, false, changes[i].bytes));
        hs_table_cell(&table, "%s", changes[i].words);
    }
    hs_table_write(&table, buf,
                   &(struct hs_table_style){ .indent = 2,
                                             .columns = options->columns,
                                             .has_colour = options->has_colour });
    hs_table_deinit(&table);
}

int hs_diff_write_ledger(const struct hs_diff_options *options, struct hs_buf *buf)
{
    struct sides sides = { 0 };
    char before[HS_HUMAN_BYTES], after[HS_HUMAN_BYTES];
    int err = read_sides(options, &sides);
    if (err == 0 && are_whole(&sides)) {
        hs_buf_printf(buf, "\nResident memory   %s before, %s after\n",
                      hs_human_bytes(before, (double)sides.sums[HS_DIFF_BEFORE].all.rss_bytes),
                      hs_human_bytes(after, (double)sides.sums[HS_DIFF_AFTER].all.rss_bytes));
        write_changes(&sides, options, buf);
    }
    free_sides(&sides);
    return err;
}

int hs_diff_json_ledger(const struct hs_diff_options *options, struct hs_json *json)
{
    struct sides sides = { 0 };
    int err = read_sides(options, &sides);
    if (err == 0 && are_whole(&sides)) {
        hs_json_key(json, "resident");
        hs_json_open(json, '{');
        hs_json_kv_uint(json, "before_bytes", sides.sums[HS_DIFF_BEFORE].all.rss_bytes);
        hs_json_kv_uint(json, "after_bytes", sides.sums[HS_DIFF_AFTER].all.rss_bytes);
        hs_json_key(json, "parts");
        hs_json_open(json, '[');
        for (size_t i = 0; i < HS_LEDGER_PARTS; i++) {
            hs_json_open_inline(json, '{');
            hs_json_kv_string(json, "name", sides.parts[HS_DIFF_AFTER][i].words);
            hs_json_kv_uint(json, "before_bytes", sides.parts[HS_DIFF_BEFORE][i].rss_bytes);
            hs_json_kv_uint(json, "after_bytes", sides.parts[HS_DIFF_AFTER][i].rss_bytes);
            hs_json_close(json, '}');
        }
        hs_json_close(json, ']');
        hs_json_close(json, '}');
    }
    free_sides(&sides);
    return err;
}
