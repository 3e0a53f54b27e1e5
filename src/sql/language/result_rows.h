/*
 * The rows of a statement as text: a human-readable table, or CSV and JSON for programs.
 *
 * CSV follows RFC 4180 with trace_processor's conventions: a header, texts in quotes, numbers
 * without quotes, NULL as "[NULL]". JSON is an array of objects, one row per line. Integers are
 * exact, doubles read back as the same double, blobs are base64, and text that is not UTF-8 is
 * repaired. CSV and JSON are written row by row. The column widths of a table are determined by its
 * first HS_SQL_TABLE_ROWS rows.
 *
 * Several results are separated by an empty line; in JSON, each is an array of its own.
 *
 * Threads   one.
 * Fails     as its buffer does.
 */
#pragma once

#include "sql/language/sql_session.h"
#include "util/buf.h"

#define HS_SQL_TABLE_ROWS 10000 /* rows that determine the widths */

enum hs_sql_format {
    HS_SQL_FORMAT_TABLE,
    HS_SQL_FORMAT_CSV,
    HS_SQL_FORMAT_JSON,
    HS_SQL_FORMAT_N,
};

extern const char *const hs_sql_format_names[HS_SQL_FORMAT_N];

struct hs_sql_writer {
    struct hs_buf *buf;
    enum hs_sql_format format;
    uint64_t result_count, row_count;
    /* The start of a table, which is kept until its widths are known: the texts of the cells, one
     * after another. */
    struct hs_buf cells;
    uint8_t *is_right; /* by cell */
    size_t *cell_offs;
    size_t cell_count, cell_capacity, right_capacity;
    size_t *widths;
    size_t column_count;
    bool has_widths;
};

/* The text is appended to `buf`, which must stay valid. */
void hs_sql_writer_init(struct hs_sql_writer *writer, struct hs_buf *buf,
                        enum hs_sql_format format);
/* Frees the kept rows. */
void hs_sql_writer_deinit(struct hs_sql_writer *writer);
/* The callbacks to pass to hs_sql_run(). */
struct hs_sql_rows hs_sql_writer_rows(struct hs_sql_writer *writer);
