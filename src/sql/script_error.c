/*
 * Messages about SQL: what, where, and what was perhaps meant.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rt/base.h"
#include "sql/session_state.h"
#include "util/array.h"
#include "util/suggest.h"
#include "util/utf8.h"

#define LINE_COLUMNS_MAX 110 /* of the script's line that is shown */
#define NAMES_MAX        20000

const char *hs_sql_error(struct hs_sql *sql)
{
    return hs_buf_text(&sql->error);
}

/* The line with a caret below; long lines lose what is far from it. */
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

struct names {
    const char **items;
    size_t count, capacity;
};

static void add_name(struct names *names, const unsigned char *name)
{
    char *copy = name ? strdup((const char *)name) : NULL;
    if (!copy || names->count >= NAMES_MAX ||
        hs_array_reserve(&names->items, &names->capacity, names->count + 1,
                         sizeof(names->items[0])) < 0) {
        free(copy);
        return;
    }
    names->items[names->count++] = copy;
}

static void add_names_of(sqlite3 *db, const char *query, struct names *names)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, query, -1, &stmt, NULL) == SQLITE_OK) {
        while (names->count < NAMES_MAX && sqlite3_step(stmt) == SQLITE_ROW) {
            add_name(names, sqlite3_column_text(stmt, 0));
        }
    }
    sqlite3_finalize(stmt);
}

/* The known name nearest to `typed`: a table, a column or a function. */
static void add_suggestion(struct hs_sql *sql, const char *typed, const char *query)
{
    struct names names = { NULL, 0, 0 };
    add_names_of(sql->db, query, &names);
    const char *near = names.count > 0 ? hs_suggest_nearest(typed, names.items, names.count) : NULL;
    if (near) {
        hs_buf_printf(&sql->error, "; did you mean %s?", near);
    }
    for (size_t i = 0; i < names.count; i++) {
        free((void *)(uintptr_t)names.items[i]);
    }
    free((void *)names.items);
}

/* A statement of another connection's past is not a place: find the name in the text instead. */
static size_t find_word(const char *text, size_t bytes, const char *word)
{
    size_t word_bytes = strlen(word);
    struct hs_sql_token token = hs_sql_token_solid(text, bytes, 0);
    for (; token.kind != HS_SQL_TOKEN_END;
         token = hs_sql_token_solid(text, bytes, token.begin_off + token.bytes)) {
        size_t quotes = token.kind == HS_SQL_TOKEN_NAME ? 1 : 0;
        if ((token.kind == HS_SQL_TOKEN_WORD || quotes > 0) &&
            token.bytes == word_bytes + 2 * quotes &&
            strncasecmp(text + token.begin_off + quotes, word, word_bytes) == 0) {
            return token.begin_off;
        }
    }
    return SIZE_MAX;
}

static const struct {
    const char *start;
    const char *names; /* query of the names that there are */
} unknown_words[] = {
    { "no such table: ",
      "SELECT name FROM sqlite_temp_schema WHERE type IN ('table', 'view') UNION "
      "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') UNION "
      "SELECT name FROM pragma_module_list WHERE name NOT LIKE 'fts%'" },
    { "no such column: ", "SELECT DISTINCT c.name FROM (SELECT name, 'temp' AS place FROM "
                          "sqlite_temp_schema WHERE type "
                          "IN ('table', 'view') UNION ALL SELECT name, 'main' FROM sqlite_schema "
                          "WHERE type IN ('table', "
                          "'view')) t JOIN pragma_table_info(t.name, t.place) c" },
    { "no such function: ", "SELECT DISTINCT name FROM pragma_function_list" },
};

/* Adds what is known about an unknown name, and returns where in the text it stands. */
static size_t explain_name(struct hs_sql *sql, const char *message, const char *text, size_t bytes)
{
    for (size_t i = 0; i < HS_COUNT_OF(unknown_words); i++) {
        size_t start_bytes = strlen(unknown_words[i].start);
        if (strncmp(message, unknown_words[i].start, start_bytes) != 0) {
            continue;
        }
        char word[256];
        const char *dot = strrchr(message + start_bytes, '.');
        snprintf(word, sizeof(word), "%s", dot ? dot + 1 : message + start_bytes);
        add_suggestion(sql, word, unknown_words[i].names);
        return find_word(text, bytes, word);
    }
    return SIZE_MAX;
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
        hs_buf_str(&sql->error, ": the file is only read; CREATE PERFETTO TABLE and CREATE TABLE "
                                "make temporary tables, which can be written");
    }
    size_t out_off = error_off >= 0 ? (size_t)error_off : SIZE_MAX;
    if (made) {
        size_t word_off = explain_name(sql, message, made->buf.data, made->buf.bytes);
        out_off = out_off != SIZE_MAX ? out_off : word_off;
    }
    size_t off = place->off;
    if (made && out_off != SIZE_MAX) {
        off = hs_sql_text_source(made, out_off);
    }
    add_place(sql, place, off);
    return HS_SQL_E_STATEMENT;
}
