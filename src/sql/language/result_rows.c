/* Rows as a table, CSV or JSON. See result_rows.h. */
#include "sql/language/result_rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/language/session_state.h"
#include "util/array.h"
#include "util/utf8.h"

const char *const hs_sql_format_names[HS_SQL_FORMAT_N] = { "table", "csv", "json" };

void hs_sql_writer_init(struct hs_sql_writer *writer, struct hs_buf *buf, enum hs_sql_format format)
{
    memset(writer, 0, sizeof(*writer));
    writer->buf = buf;
    writer->format = format;
}

void hs_sql_writer_deinit(struct hs_sql_writer *writer)
{
    hs_buf_deinit(&writer->cells);
    free(writer->is_right);
    free(writer->cell_offs);
    free(writer->widths);
}

/* Appends the shortest text that reads back as the same double, always with a point or an
 * exponent. */
static void add_double(struct hs_buf *buf, double value)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    hs_buf_str(buf, text);
    if (strspn(text, "-0123456789") == strlen(text)) {
        hs_buf_str(buf, ".0");
    }
}

/* Appends text as valid UTF-8, with U+FFFD for invalid bytes. */
static void add_json_text(struct hs_buf *buf, const char *text, size_t bytes)
{
    hs_buf_char(buf, '"');
    for (size_t i = 0; i < bytes;) {
        uint32_t c;
        size_t step = hs_utf8_next(text + i, bytes - i, &c);
        if (c == '"' || c == '\\') {
            hs_buf_char(buf, '\\');
            hs_buf_char(buf, (char)c);
        } else if (c == '\n') {
            hs_buf_str(buf, "\\n");
        } else if (c == '\t') {
            hs_buf_str(buf, "\\t");
        } else if (c < 0x20 || c == 0x7F) {
            hs_buf_printf(buf, "\\u%04x", c);
        } else if (c == 0xFFFD) {
            hs_buf_str(buf, "\xEF\xBF\xBD");
        } else {
            hs_buf_add(buf, text + i, step);
        }
        i += step;
    }
    hs_buf_char(buf, '"');
}

static void add_json_cell(struct hs_buf *buf, sqlite3_stmt *stmt, int column)
{
    const void *data;
    double real;
    switch (sqlite3_column_type(stmt, column)) {
    case SQLITE_INTEGER:
        hs_buf_printf(buf, "%lld", (long long)sqlite3_column_int64(stmt, column));
        break;
    case SQLITE_FLOAT:
        real = sqlite3_column_double(stmt, column);
        if (isfinite(real)) {
            add_double(buf, real);
        } else {
            hs_buf_str(buf, "null");
        }
        break;
    case SQLITE_TEXT:
        data = sqlite3_column_text(stmt, column);
        add_json_text(buf, data, (size_t)sqlite3_column_bytes(stmt, column));
        break;
    case SQLITE_BLOB:
        data = sqlite3_column_blob(stmt, column);
        hs_buf_char(buf, '"');
        hs_sql_base64(buf, data, (size_t)sqlite3_column_bytes(stmt, column));
        hs_buf_char(buf, '"');
        break;
    default:
        hs_buf_str(buf, "null");
    }
}

static void add_json_row(struct hs_sql_writer *writer, sqlite3_stmt *stmt)
{
    int count = sqlite3_column_count(stmt);
    hs_buf_str(writer->buf, writer->row_count == 0 ? "\n{" : ",\n{");
    for (int i = 0; i < count; i++) {
        const char *name = sqlite3_column_name(stmt, i);
        hs_buf_str(writer->buf, i > 0 ? ", " : "");
        add_json_text(writer->buf, name ? name : "", name ? strlen(name) : 0);
        hs_buf_str(writer->buf, ": ");
        add_json_cell(writer->buf, stmt, i);
    }
    hs_buf_char(writer->buf, '}');
}

static void add_quoted(struct hs_buf *buf, const char *text, size_t bytes)
{
    hs_buf_char(buf, '"');
    while (bytes > 0) {
        const char *quote = memchr(text, '"', bytes);
        size_t part = quote ? (size_t)(quote - text) + 1 : bytes;
        hs_buf_add(buf, text, part);
        hs_buf_str(buf, quote ? "\"" : "");
        text += part;
        bytes -= part;
    }
    hs_buf_char(buf, '"');
}

static void add_csv_row(struct hs_sql_writer *writer, sqlite3_stmt *stmt)
{
    struct hs_buf *buf = writer->buf;
    int count = sqlite3_column_count(stmt);
    for (int i = 0; i < count; i++) {
        hs_buf_str(buf, i > 0 ? "," : "");
        switch (sqlite3_column_type(stmt, i)) {
        case SQLITE_INTEGER:
            hs_buf_printf(buf, "%lld", (long long)sqlite3_column_int64(stmt, i));
            break;
        case SQLITE_FLOAT:
            hs_buf_printf(buf, "%f", sqlite3_column_double(stmt, i)); /* as in trace_processor */
            break;
        case SQLITE_NULL:
            hs_buf_str(buf, "\"[NULL]\"");
            break;
        case SQLITE_BLOB:
            hs_buf_char(buf, '"');
            hs_sql_base64(buf, sqlite3_column_blob(stmt, i), (size_t)sqlite3_column_bytes(stmt, i));
            hs_buf_char(buf, '"');
            break;
        default:
            add_quoted(buf, (const char *)sqlite3_column_text(stmt, i),
                       (size_t)sqlite3_column_bytes(stmt, i));
        }
    }
    hs_buf_char(buf, '\n');
}

static int keep_cell(struct hs_sql_writer *writer, const char *text, size_t bytes, bool is_right)
{
    size_t n = writer->cell_count + 1;
    if (hs_array_reserve(&writer->cell_offs, &writer->cell_capacity, n + 1, sizeof(size_t)) < 0 ||
        hs_array_reserve(&writer->is_right, &writer->right_capacity, n, 1) < 0) {
        return -ENOMEM;
    }
    writer->cell_offs[n - 1] = writer->cells.bytes;
    hs_utf8_write(&writer->cells, text, bytes);
    writer->cell_offs[n] = writer->cells.bytes;
    writer->is_right[n - 1] = is_right;
    writer->cell_count = n;
    return writer->cells.err;
}

static void add_padded(struct hs_sql_writer *writer, size_t cell)
{
    size_t column = cell % writer->column_count;
    const char *text = writer->cells.data ? writer->cells.data + writer->cell_offs[cell] : "";
    size_t bytes = writer->cell_offs[cell + 1] - writer->cell_offs[cell];
    size_t used = hs_utf8_columns(text, bytes);
    size_t blanks = used < writer->widths[column] ? writer->widths[column] - used : 0;
    bool is_last = column + 1 == writer->column_count;
    if (writer->is_right[cell]) {
        hs_buf_repeat(writer->buf, ' ', blanks);
    }
    hs_buf_add(writer->buf, text, bytes);
    if (!writer->is_right[cell] && !is_last) {
        hs_buf_repeat(writer->buf, ' ', blanks);
    }
    hs_buf_str(writer->buf, is_last ? "\n" : "  ");
}

static void write_kept(struct hs_sql_writer *writer)
{
    if (writer->column_count == 0) {
        return;
    }
    if (!writer->has_widths) {
        /* The title of a column of numbers is right-aligned, like the numbers. */
        for (size_t c = 0; c < writer->column_count && writer->cell_count > writer->column_count;
             c++) {
            writer->is_right[c] = writer->is_right[writer->column_count + c];
        }
        for (size_t i = 0; i < writer->cell_count; i++) {
            const char *text = writer->cells.data ? writer->cells.data + writer->cell_offs[i] : "";
            size_t columns = hs_utf8_columns(text, writer->cell_offs[i + 1] - writer->cell_offs[i]);
            size_t *width = &writer->widths[i % writer->column_count];
            *width = columns > *width ? columns : *width;
        }
    }
    for (size_t i = 0; i < writer->cell_count; i++) {
        add_padded(writer, i);
        if (i + 1 == writer->column_count && !writer->has_widths) {
            for (size_t c = 0; c < writer->column_count; c++) {
                hs_buf_repeat(writer->buf, '-', writer->widths[c]);
                hs_buf_str(writer->buf, c + 1 == writer->column_count ? "\n" : "  ");
            }
        }
    }
    writer->has_widths = true;
    writer->cell_count = 0;
    hs_buf_clear(&writer->cells);
}

static int keep_row(struct hs_sql_writer *writer, sqlite3_stmt *stmt)
{
    int err = 0;
    for (int i = 0; i < (int)writer->column_count && err == 0; i++) {
        struct hs_buf made = { 0 };
        int type = sqlite3_column_type(stmt, i);
        if (type == SQLITE_FLOAT) {
            add_double(&made, sqlite3_column_double(stmt, i));
        } else if (type == SQLITE_BLOB) {
            hs_sql_base64(&made, sqlite3_column_blob(stmt, i),
                          (size_t)sqlite3_column_bytes(stmt, i));
        } else if (type == SQLITE_NULL) {
            hs_buf_str(&made, "NULL");
        } else {
            const char *text = (const char *)sqlite3_column_text(stmt, i);
            hs_buf_add(&made, text ? text : "", (size_t)sqlite3_column_bytes(stmt, i));
        }
        err = made.err ? made.err
                       : keep_cell(writer, hs_buf_text(&made), made.bytes,
                                   type == SQLITE_INTEGER || type == SQLITE_FLOAT);
        hs_buf_deinit(&made);
    }
    return err;
}

static int begin_table(struct hs_sql_writer *writer, sqlite3_stmt *stmt)
{
    free(writer->widths);
    writer->column_count = (size_t)sqlite3_column_count(stmt);
    writer->widths = calloc(writer->column_count, sizeof(size_t));
    writer->has_widths = false;
    writer->cell_count = 0;
    hs_buf_clear(&writer->cells);
    int err = writer->widths ? 0 : -ENOMEM;
    for (size_t i = 0; i < writer->column_count && err == 0; i++) {
        const char *name = sqlite3_column_name(stmt, (int)i);
        err = keep_cell(writer, name ? name : "", name ? strlen(name) : 0, false);
    }
    return err;
}

static int on_begin(void *ctx, sqlite3_stmt *stmt)
{
    struct hs_sql_writer *writer = ctx;
    bool is_first = writer->result_count++ == 0;
    writer->row_count = 0;
    if (writer->format == HS_SQL_FORMAT_JSON) {
        hs_buf_char(writer->buf, '[');
        return writer->buf->err;
    }
    hs_buf_str(writer->buf, is_first ? "" : "\n");
    if (writer->format == HS_SQL_FORMAT_TABLE) {
        return begin_table(writer, stmt);
    }
    int count = sqlite3_column_count(stmt);
    for (int i = 0; i < count; i++) {
        const char *name = sqlite3_column_name(stmt, i);
        hs_buf_str(writer->buf, i > 0 ? "," : "");
        add_quoted(writer->buf, name ? name : "", name ? strlen(name) : 0);
    }
    hs_buf_char(writer->buf, '\n');
    return writer->buf->err;
}

static int on_row(void *ctx, sqlite3_stmt *stmt)
{
    struct hs_sql_writer *writer = ctx;
    int err = 0;
    if (writer->format == HS_SQL_FORMAT_JSON) {
        add_json_row(writer, stmt);
    } else if (writer->format == HS_SQL_FORMAT_CSV) {
        add_csv_row(writer, stmt);
    } else {
        err = keep_row(writer, stmt);
        if (err == 0 && (writer->has_widths || writer->row_count + 1 >= HS_SQL_TABLE_ROWS)) {
            write_kept(writer);
        }
    }
    writer->row_count++;
    return err ? err : writer->buf->err;
}

static int on_end(void *ctx, sqlite3_stmt *stmt)
{
    (void)stmt;
    struct hs_sql_writer *writer = ctx;
    if (writer->format == HS_SQL_FORMAT_JSON) {
        hs_buf_str(writer->buf, writer->row_count > 0 ? "\n]\n" : "]\n");
    } else if (writer->format == HS_SQL_FORMAT_TABLE) {
        write_kept(writer);
    }
    return writer->buf->err;
}

struct hs_sql_rows hs_sql_writer_rows(struct hs_sql_writer *writer)
{
    return (struct hs_sql_rows){ writer, on_begin, on_row, on_end };
}
