/*
 * Output of a comparison of two profiles: human-readable and for tools. Each function writes a
 * comparison (profile/analyse/diff.h) into a buffer.
 *
 * Threads   no state.
 * Fails     -ENOMEM or as the buffer does.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/analyse/diff.h"
#include "profile/analyse/part_diff.h"
#include "view/filter_words.h"

#define HS_DIFF_ALL UINT32_MAX

struct hs_diff_options {
    const char *names[HS_DIFF_SIDE_N]; /* of the two files */
    const struct hs_selection *selections[HS_DIFF_SIDE_N];
    uint32_t top_count; /* rows of each table, or HS_DIFF_ALL */
    unsigned columns;   /* of the terminal; 0: names are not shortened */
    bool has_colour;
    struct hs_filter_texts filters; /* of both sides */
};

/* Tables of the functions that grew, are new, shrank or are gone, and a summary of the rest. */
int hs_diff_write_text(const struct hs_diff *diff, const struct hs_diff_options *options,
                       struct hs_buf *buf);
/* The call tree, main first. */
int hs_diff_write_tree(const struct hs_diff *diff, const struct hs_diff_options *options,
                       struct hs_buf *buf);
/* The whole comparison as JSON, unrounded; with its parts, unless `parts` is NULL. */
int hs_diff_write_json(const struct hs_diff *diff, const struct hs_part_diff *parts,
                       const struct hs_diff_options *options, struct hs_buf *buf);
/* A table of what changed in the parts. */
int hs_diff_write_by(const struct hs_diff *diff, const struct hs_part_diff *parts,
                     const struct hs_diff_options *options, struct hs_buf *buf);
/*
 * "main;load;parse 40 90": the input of a differential flame graph. Each column's sum is that of
 * its side.
 */
int hs_diff_write_folded(const struct hs_diff *diff, struct hs_buf *buf);
/* What pprof calls a diff base: values before are negative and carry the label pprof::base=true. */
int hs_diff_write_pprof(const struct hs_diff *diff, const struct hs_diff_options *options,
                        struct hs_buf *buf);

/* A flame graph: the width is the larger of both values; red grew, blue shrank, grey is noise. */
int hs_diff_write_svg(const struct hs_diff *diff, const struct hs_diff_options *options,
                      struct hs_buf *buf);

/* The beginning of both texts: what was compared, and the totals. */
void hs_diff_write_head(const struct hs_diff *diff, const struct hs_diff_options *options,
                        struct hs_buf *buf);

/* What of the resident memory changed; nothing when a process of one side has no ledger. Returns 0
 * or -errno. */
int hs_diff_write_ledger(const struct hs_diff_options *options, struct hs_buf *buf);
struct hs_json;
/* The same as the field "resident" of the open object. */
int hs_diff_json_ledger(const struct hs_diff_options *options, struct hs_json *json);

/* Writes a change as fields of the open object. */
void hs_diff_json_change(const struct hs_diff *diff, struct hs_json *json,
                         const struct hs_diff_amounts *amounts);
/* Writes the field "parts" of the open object. */
void hs_diff_json_by(const struct hs_diff *diff, const struct hs_part_diff *parts,
                     struct hs_json *json);

/* The resident memory alone, line by line: text, and JSON. */
int hs_diff_write_rss(const struct hs_diff_options *options, struct hs_buf *buf);
int hs_diff_write_rss_json(const struct hs_diff_options *options, struct hs_buf *buf);

struct hs_table;

struct hs_diff_table_end {
    const char *title;
    uint32_t row_count; /* number of all rows; the table has the first top_count of them */
    uint32_t top_count;
    unsigned columns;
    bool has_colour;
};

/* Writes a table with titles, for a terminal of `columns`. `give_way` as in table.h. */
void hs_diff_write_table(struct hs_table *table, unsigned columns, bool has_colour,
                         const char *give_way, struct hs_buf *buf);

/*
 * Writes a table of functions, whose names are in its last columns, and how many rows were left
 * out. Writes nothing when there are no rows.
 */
void hs_diff_end_table(struct hs_table *table, const struct hs_diff_table_end *end,
                       struct hs_buf *buf);

#define HS_DIFF_CELL_BYTES 96
/* "+12.0 MiB", "−3". Each of these returns `out`, which has HS_DIFF_CELL_BYTES bytes. */
char *hs_diff_signed(char *out, bool is_count, double value);
/* "+8.00 .. +16.0 MiB"; "" when the difference is exact. */
char *hs_diff_interval(char *out, bool is_count, const struct hs_diff_change *change);
/* "+50.0 %"; "" when there was nothing before. */
char *hs_diff_percent(char *out, const struct hs_diff_change *change);
