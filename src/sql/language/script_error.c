/*
 * Error messages about SQL: what is wrong, where, and (unknown_name.h) which name may have been
 * meant.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rt/base.h"
#include "sql/language/session_state.h"
#include "sql/language/unknown_name.h"
#include "util/utf8.h"

#define LINE_COLUMNS_MAX 110 /* of the script's line, which is shown */

const char *hs_sql_error(struct hs_sql *sql)
{
    return hs_buf_text(&sql->error);
}

/* Appends the line with a caret below it. Of a long line, only the part around the caret is
 * shown. */
static void add_line(struct hs_buf *buf, const char *line, size_t line_bytes, size_t caret_off)
{
    size_t begin = 0;
    size_t before = hs_utf8_columns(line, caret_off);
    if (before > LINE_COLUMNS_MAX / 2) {
        begin = hs_utf8_fit_end(line, caret_off, LINE_COLUMNS_MAX / 2);
    }
    size_t shown = hs_utf8_fit(line + begin, line_bytes - begin, LINE_COLUMNS_MAX);
    char *copy = malloc(shown + 1);
    if (!copy) {
        buf->err = -ENOMEM;
        return;
    }
    for (size_t i = 0; i < shown; i++) {
        copy[i] = line[begin + i] == '\t' ? ' ' : line[begin + i];
    }
    hs_buf_str(buf, "\n  ");
    hs_utf8_write(buf, copy, shown);
    hs_buf_str(buf, "\n  ");
    hs_buf_repeat(buf, ' ', hs_utf8_columns(copy, caret_off - begin));
    hs_buf_char(buf, '^');
    free(copy);
}

static void add_place(struct hs_sql *sql, const struct hs_sql_place *place, size_t off)
{
    off = off < place->text_bytes ? off : place->text_bytes;
    size_t line_begin = 0, line_number = 1;
    for (size_t i = 0; i < off; i++) {
        if (place->text[i] == '\n') {
            line_begin = i + 1;
            line_number++;
        }
    }
    const char *line = place->text + line_begin;
    const char *line_end = memchr(line, '\n', place->text_bytes - line_begin);
    size_t line_bytes = line_end ? (size_t)(line_end - line) : place->text_bytes - line_begin;
    if (line_bytes > 0 && line[line_bytes - 1] == '\r' && line_begin + line_bytes - 1 >= off) {
        line_bytes--;
    }
    size_t column = 1;
    for (size_t i = 0; i < off - line_begin; i++) {
        column += (line[i] & 0xC0) != 0x80 ? 1 : 0;
    }
    hs_buf_printf(&sql->error, "\n%s%sline %zu, column %zu:", place->origin ? place->origin : "",
                  place->origin ? ", " : "", line_number, column);
    add_line(&sql->error, line, line_bytes, off - line_begin);
}

int hs_sql_fail_at(struct hs_sql *sql, const struct hs_sql_place *place, size_t off,
                   const char *format, ...)
{
    va_list args;
    va_start(args, format);
    hs_buf_clear(&sql->error);
    hs_buf_vprintf(&sql->error, format, args);
    va_end(args);
    add_place(sql, place, off);
    return HS_SQL_E_STATEMENT;
}

int hs_sql_fail_sqlite(struct hs_sql *sql, const struct hs_sql_place *place,
                       const struct hs_sql_text *made)
{
    int code = sqlite3_errcode(sql->db);
    int error_off = sqlite3_error_offset(sql->db);
    char message[1024];
    snprintf(message, sizeof(message), "%s", sqlite3_errmsg(sql->db));
    if (code == SQLITE_NOMEM) {
        return -ENOMEM;
    }
    hs_buf_clear(&sql->error);
    if (code == SQLITE_INTERRUPT) {
        hs_buf_str(&sql->error, sql->is_exhausted ? "stopped: it takes too long" : "interrupted");
        return HS_SQL_E_STATEMENT;
    }
    hs_buf_str(&sql->error, message);
    if (code == SQLITE_READONLY) {
        hs_buf_str(&sql->error, ": the file cannot be changed; CREATE PERFETTO TABLE and CREATE "
                                "TABLE make temporary tables, which can be written");
    }
    size_t out_off = error_off >= 0 ? (size_t)error_off : SIZE_MAX;
    if (made) {
        size_t word_off =
            hs_sql_unknown_name(sql, message, made->buf.data, made->buf.bytes, &sql->error);
        out_off = out_off != SIZE_MAX ? out_off : word_off;
    }
    size_t off = place->off;
    if (made && out_off != SIZE_MAX) {
        off = hs_sql_text_source(made, out_off);
    }
    add_place(sql, place, off);
    return HS_SQL_E_STATEMENT;
}
