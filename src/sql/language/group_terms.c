/*
 * Removes terms of GROUP BY. See group_terms.h.
 *
 * A term is removed if the remaining terms determine the row of its table: by equalities of joins,
 * from a known column to a key, over any number of joins. The joins are inner joins, so that each
 * equality holds within a group.
 */
#include "sql/language/group_terms.h"

#include <string.h>
#include <strings.h>

#include "rt/base.h"
#include "sql/language/token.h"

#define SOURCES_MAX    8U
#define EQUALITIES_MAX 16U
#define RESULTS_MAX    64U
#define TERMS_MAX      32U

/* alias.name; the kind is END for any other expression. */
struct column {
    struct hs_sql_token alias, name;
};

struct source {
    struct hs_sql_token table, alias;
    bool is_determined;
};

struct term {
    struct column column;
    size_t begin_off, end_off; /* including the comma before it, if there is one */
    bool is_dropped;
};

struct reader {
    sqlite3 *db;
    char *text;
    size_t bytes;
    struct hs_sql_token token; /* the next token */

    struct column results[RESULTS_MAX];
    struct source sources[SOURCES_MAX];
    struct column equalities[EQUALITIES_MAX][2];
    struct term terms[TERMS_MAX];
    size_t result_count, source_count, equality_count, term_count;
};

static bool is_next(const struct reader *reader, const char *word)
{
    return hs_sql_token_is(reader->text, reader->token, word);
}

static bool is_one_of(const struct reader *reader, const char *const *words, size_t count)
{
    bool is_any = false;
    for (size_t i = 0; i < count; i++) {
        is_any = is_any || is_next(reader, words[i]);
    }
    return is_any;
}

static struct hs_sql_token take_any(struct reader *reader)
{
    struct hs_sql_token token = reader->token;
    reader->token = hs_sql_token_solid(reader->text, reader->bytes, token.begin_off + token.bytes);
    return token;
}

static bool take(struct reader *reader, const char *word)
{
    bool is_there = is_next(reader, word);
    if (is_there) {
        take_any(reader);
    }
    return is_there;
}

static bool take_word(struct reader *reader, struct hs_sql_token *ret_word)
{
    *ret_word = reader->token;
    return take_any(reader).kind == HS_SQL_TOKEN_WORD;
}

static bool take_column(struct reader *reader, struct column *ret_column)
{
    return take_word(reader, &ret_column->alias) && take(reader, ".") &&
           take_word(reader, &ret_column->name);
}

static bool is_same(const struct reader *reader, struct hs_sql_token a, struct hs_sql_token b)
{
    return a.bytes == b.bytes &&
           strncasecmp(reader->text + a.begin_off, reader->text + b.begin_off, a.bytes) == 0;
}

/* Skips to one of these words outside parentheses. Returns false if the text ends before. */
static bool skip_to(struct reader *reader, const char *const *words, size_t count)
{
    unsigned depth = 0;
    while (reader->token.kind != HS_SQL_TOKEN_END) {
        if (depth == 0 && is_one_of(reader, words, count)) {
            return true;
        }
        if (is_next(reader, ")") && depth-- == 0) {
            return false;
        }
        depth += is_next(reader, "(") ? 1 : 0;
        take_any(reader);
    }
    return false;
}

/* --- the statement, from its beginning to the end of GROUP BY --- */

/* Takes a result that is only a column, possibly renamed, up to the next result. */
static bool take_plain_result(struct reader *reader, struct column *ret_column)
{
    bool is_column = take_column(reader, ret_column);
    bool is_operator = is_next(reader, "ISNULL") || is_next(reader, "NOTNULL");
    if (is_column && !is_operator && !is_next(reader, "FROM")) {
        bool has_as = take(reader, "AS");
        if (has_as || reader->token.kind == HS_SQL_TOKEN_WORD) {
            take_any(reader);
        }
    }
    return is_column && (is_next(reader, ",") || is_next(reader, "FROM"));
}

/* Reads one result, which may be any expression except *: that stands for an unknown number of
 * columns, so that results could not be numbered. */
static bool read_result(struct reader *reader)
{
    static const char *const ends[] = { ",", "FROM" };
    struct hs_sql_token first = reader->token, last = first;
    struct column column;
    if (!take_plain_result(reader, &column)) {
        column = (struct column){ 0 };
        reader->token = first;
        unsigned depth = 0;
        while (depth > 0 || !is_one_of(reader, ends, HS_COUNT_OF(ends))) {
            depth += is_next(reader, "(") ? 1 : 0;
            depth -= depth > 0 && is_next(reader, ")") ? 1 : 0;
            last = take_any(reader);
            if (last.kind == HS_SQL_TOKEN_END) {
                return false;
            }
        }
    }
    if (hs_sql_token_is(reader->text, last, "*") || reader->result_count == RESULTS_MAX) {
        return false;
    }
    reader->results[reader->result_count++] = column;
    return true;
}

static bool read_source(struct reader *reader)
{
    static const char *const no_aliases[] = {
        "JOIN", "INNER",  "ON",      "WHERE", "GROUP",   "LEFT",   "RIGHT",
        "FULL", "CROSS",  "USING",   "ORDER", "LIMIT",   "HAVING", "UNION",
        "NOT",  "EXCEPT", "NATURAL", "OUTER", "INDEXED", "WINDOW", "INTERSECT",
    };
    if (reader->source_count == SOURCES_MAX) {
        return false;
    }
    struct source *source = &reader->sources[reader->source_count++];
    *source = (struct source){ 0 };
    if (!take_word(reader, &source->table)) {
        return false;
    }
    source->alias = source->table;
    if (take(reader, "AS")) {
        return take_word(reader, &source->alias);
    }
    if (reader->token.kind == HS_SQL_TOKEN_WORD &&
        !is_one_of(reader, no_aliases, HS_COUNT_OF(no_aliases))) {
        return take_word(reader, &source->alias);
    }
    return true;
}

static bool read_equality(struct reader *reader)
{
    if (reader->equality_count == EQUALITIES_MAX) {
        return false;
    }
    struct column *equality = reader->equalities[reader->equality_count++];
    if (!take_column(reader, &equality[0]) || !take(reader, "=")) {
        return false;
    }
    take(reader, "="); /* == */
    return take_column(reader, &equality[1]);
}

static bool read_sources(struct reader *reader)
{
    bool is_fine = read_source(reader);
    while (is_fine && (is_next(reader, "JOIN") || is_next(reader, "INNER"))) {
        take(reader, "INNER");
        is_fine = take(reader, "JOIN") && read_source(reader) && take(reader, "ON") &&
                  read_equality(reader);
        while (is_fine && take(reader, "AND")) {
            is_fine = read_equality(reader);
        }
    }
    return is_fine;
}

static bool read_term(struct reader *reader)
{
    if (reader->term_count == TERMS_MAX) {
        return false;
    }
    struct term *term = &reader->terms[reader->term_count++];
    struct hs_sql_token token = reader->token;
    *term = (struct term){ .begin_off = token.begin_off };
    if (token.kind != HS_SQL_TOKEN_NUMBER) {
        bool is_column = take_column(reader, &term->column);
        term->end_off = term->column.name.begin_off + term->column.name.bytes;
        return is_column;
    }
    take_any(reader);
    size_t number = 0;
    for (size_t i = 0; i < token.bytes && number <= RESULTS_MAX; i++) {
        unsigned char digit = (unsigned char)(reader->text[token.begin_off + i] - '0');
        number = digit > 9 ? RESULTS_MAX + 1 : number * 10 + digit;
    }
    if (number == 0 || number > reader->result_count) {
        return false;
    }
    term->column = reader->results[number - 1];
    term->end_off = token.begin_off + token.bytes;
    return true;
}

static bool read_terms(struct reader *reader)
{
    static const char *const ends[] = { "HAVING", "ORDER", "LIMIT", ";" };
    bool is_fine = read_term(reader);
    while (is_fine && is_next(reader, ",")) {
        size_t comma_off = take_any(reader).begin_off;
        is_fine = read_term(reader);
        reader->terms[reader->term_count - 1].begin_off = comma_off;
    }
    return is_fine &&
           (reader->token.kind == HS_SQL_TOKEN_END || is_one_of(reader, ends, HS_COUNT_OF(ends)));
}

static bool read_statement(struct reader *reader)
{
    static const char *const ends[] = { "GROUP",     "SELECT", "UNION", "EXCEPT",
                                        "INTERSECT", "WINDOW", "ORDER", "LIMIT" };
    if (take(reader, "EXPLAIN") && take(reader, "QUERY") && !take(reader, "PLAN")) {
        return false;
    }
    if (!take(reader, "SELECT") || is_next(reader, "DISTINCT")) {
        return false;
    }
    do {
        if (!read_result(reader)) {
            return false;
        }
    } while (take(reader, ","));
    if (!take(reader, "FROM") || !read_sources(reader)) {
        return false;
    }
    if (take(reader, "WHERE") && !skip_to(reader, ends, HS_COUNT_OF(ends))) {
        return false;
    }
    return take(reader, "GROUP") && take(reader, "BY") && read_terms(reader);
}

/* --- which terms determine which rows --- */

/* Do the views and tables of these names still have the meaning that they had when the file was
 * opened, and is this a column without duplicates? */
static bool is_key(const struct reader *reader, struct hs_sql_token table,
                   struct hs_sql_token column)
{
    static const char query[] =
        "SELECT 1 FROM main.sqlite_schema v JOIN main.sqlite_schema t ON v.sql = 'CREATE VIEW ' || "
        "v.name || ' AS SELECT * FROM ' || t.name WHERE v.name = ?1 COLLATE NOCASE AND t.sql = "
        "'CREATE VIRTUAL TABLE ' || t.name || ' USING heapscope_rows(' || t.name || ')' AND "
        "__heapscope_is_key(t.name, ?2) AND NOT EXISTS (SELECT 1 FROM temp.sqlite_schema WHERE "
        "name = ?1 COLLATE NOCASE)";
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(reader->db, query, -1, &stmt, NULL) != SQLITE_OK) {
        return false;
    }
    sqlite3_bind_text(stmt, 1, reader->text + table.begin_off, (int)table.bytes, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, reader->text + column.begin_off, (int)column.bytes, SQLITE_STATIC);
    bool is_there = sqlite3_step(stmt) == SQLITE_ROW;
    sqlite3_finalize(stmt);
    return is_there;
}

static struct source *source_of(struct reader *reader, struct column column)
{
    for (size_t i = 0; i < reader->source_count; i++) {
        if (is_same(reader, reader->sources[i].alias, column.alias)) {
            return &reader->sources[i];
        }
    }
    return NULL;
}

static bool is_same_column(const struct reader *reader, struct column a, struct column b)
{
    return is_same(reader, a.alias, b.alias) && is_same(reader, a.name, b.name);
}

/* Is it known that the column is equal in all rows that are equal in the first `count` terms? */
static bool is_determined(struct reader *reader, struct column column, size_t count)
{
    const struct source *source = source_of(reader, column);
    bool is_known = source && source->is_determined;
    for (size_t i = 0; i < count; i++) {
        is_known = is_known || is_same_column(reader, reader->terms[i].column, column);
    }
    return is_known;
}

static bool determine_source(struct reader *reader, struct column from, struct column key,
                             size_t count)
{
    struct source *source = source_of(reader, key);
    bool is_progress = source && !source->is_determined && is_determined(reader, from, count) &&
                       is_key(reader, source->table, key.name);
    if (is_progress) {
        source->is_determined = true;
    }
    return is_progress;
}

/* Marks the tables whose rows the first `count` terms determine; the last of these terms is new. */
static void determine_sources(struct reader *reader, size_t count)
{
    const struct column *newest = &reader->terms[count - 1].column;
    determine_source(reader, *newest, *newest, count);
    bool is_progress = true;
    while (is_progress) {
        is_progress = false;
        for (size_t i = 0; i < reader->equality_count; i++) {
            const struct column *equality = reader->equalities[i];
            is_progress = determine_source(reader, equality[0], equality[1], count) || is_progress;
            is_progress = determine_source(reader, equality[1], equality[0], count) || is_progress;
        }
    }
}

/* Is the column a result? Otherwise SQLite would no longer report that it does not exist. */
static bool is_result(const struct reader *reader, struct column column)
{
    bool is_there = false;
    for (size_t i = 0; i < reader->result_count; i++) {
        is_there = is_there || is_same_column(reader, reader->results[i], column);
    }
    return is_there;
}

/* Removes the terms that earlier terms determine. Sorting by the remaining terms gives the same
 * order. */
static void drop_terms(struct reader *reader)
{
    for (size_t i = 1; i < reader->term_count; i++) {
        struct term *term = &reader->terms[i];
        determine_sources(reader, i);
        const struct source *source = source_of(reader, term->column);
        term->is_dropped = source && source->is_determined && is_result(reader, term->column);
    }
    for (size_t i = 0; i < reader->term_count; i++) {
        const struct term *term = &reader->terms[i];
        if (term->is_dropped) {
            memset(reader->text + term->begin_off, ' ', term->end_off - term->begin_off);
        }
    }
}

static bool has_duplicate_aliases(struct reader *reader)
{
    bool is_duplicate = false;
    for (size_t i = 0; i < reader->source_count; i++) {
        const struct column column = { .alias = reader->sources[i].alias };
        is_duplicate = is_duplicate || source_of(reader, column) != &reader->sources[i];
    }
    return is_duplicate;
}

void hs_sql_group_terms_reduce(sqlite3 *db, char *text, size_t bytes)
{
    struct reader reader = { .db = db, .text = text, .bytes = bytes };
    reader.token = hs_sql_token_solid(text, bytes, 0);
    if (read_statement(&reader) && !has_duplicate_aliases(&reader)) {
        drop_terms(&reader);
    }
}
