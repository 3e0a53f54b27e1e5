/*
 * Rows of a statement as text: a table for people, CSV and JSON for programs.
 *
 * CSV follows RFC 4180 with trace_processor's conventions: a header, texts in quotes, numbers without, NULL as "[NULL]".
 * JSON is an array of objects, a row a line; integers are exact, doubles read back as the same double, blobs are
 * base64, and text that is not UTF-8 is repaired. Both are written as the rows come. A table's widths are
 * those of its first rows, all of them up to HS_SQL_TABLE_ROWS.
 *
 * Several results follow each other with an empty line between them; in JSON, each is an array of its own.
 *
 * Threads   one.
 * Fails     as its buffer does.
 */
#pragma once

#include "sql/sql_session.h"
#include "util/buf.h"

#define HS_SQL_TABLE_ROWS 10000 /* whose widths count */

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
    /* The start of a table, kept until its widths are known: cells one behind the other. */
    struct hs_buf cells;
    uint8_t *is_right; /* by cell */
    size_t *cell_offs;
    size_t cell_count, cell_capacity, right_capacity;
    size_t *widths;
    size_t column_count;
    bool has_widths;
};

void hs_sql_writer_init(struct hs_sql_writer *writer, struct hs_buf *buf,
                        enum hs_sql_format format);
void hs_sql_writer_deinit(struct hs_sql_writer *writer);
/* What hs_sql_run() calls. */
struct hs_sql_rows hs_sql_writer_rows(struct hs_sql_writer *writer);
