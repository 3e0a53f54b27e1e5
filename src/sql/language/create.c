/*
 * CREATE [OR REPLACE] PERFETTO TABLE | VIEW | INDEX | FUNCTION | MACRO.
 *
 * Tables, views and indexes are SQLite's own, in its temporary database. The types in a schema are
 * not checked, because SQLite's columns have no fixed types. The columns of a schema must be those
 * of the query.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/language/session_state.h"
#include "util/array.h"

/* The current position in the statement. */
struct cursor {
    struct hs_sql *sql;
    const struct hs_sql_place *place;
    size_t end_off;
    struct hs_sql_token token;
};

static void advance(struct cursor *at)
{
    at->token =
        hs_sql_token_solid(at->place->text, at->end_off, at->token.begin_off + at->token.bytes);
}

static bool is_next(const struct cursor *at, const char *word)
{
    return hs_sql_token_is(at->place->text, at->token, word);
}

static bool take(struct cursor *at, const char *word)
{
    bool is_there = is_next(at, word);
    if (is_there) {
        advance(at);
    }
    return is_there;
}

static int expect(struct cursor *at, const char *word)
{
    return take(at, word) ? 0
                          : hs_sql_fail_at(at->sql, at->place, at->token.begin_off,
                                           "%s is expected here", word);
}

static int take_name(struct cursor *at, char **ret_name)
{
    if (at->token.kind != HS_SQL_TOKEN_WORD && at->token.kind != HS_SQL_TOKEN_NAME) {
        return hs_sql_fail_at(at->sql, at->place, at->token.begin_off, "a name is expected here");
    }
    *ret_name = hs_sql_token_name(at->place->text, at->token);
    advance(at);
    return *ret_name ? 0 : -ENOMEM;
}

void hs_sql_signature_deinit(struct hs_sql_signature *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->names[i]);
    }
}

/* Skips what follows a name: INT, JOINID(table.id), Expr. */
static void skip_type(struct cursor *at)
{
    unsigned depth = 0;
    while (at->token.kind != HS_SQL_TOKEN_END &&
           (depth > 0 || (!is_next(at, ",") && !is_next(at, ")")))) {
        depth += is_next(at, "(") ? 1 : 0;
        depth -= is_next(at, ")") ? 1 : 0;
        advance(at);
    }
}

/* Reads a signature such as (a INT, b STRING). */
static int take_signature(struct cursor *at, struct hs_sql_signature *list)
{
    int err = expect(at, "(");
    if (err == 0 && take(at, ")")) {
        return 0;
    }
    while (err == 0) {
        if (list->count == HS_SQL_PARAMETERS_MAX) {
            return hs_sql_fail_at(at->sql, at->place, at->token.begin_off,
                                  "more than %d names in a list", HS_SQL_PARAMETERS_MAX);
        }
        err = take_name(at, &list->names[list->count]);
        if (err == 0) {
            list->count++;
            skip_type(at);
            if (!take(at, ",")) {
                return expect(at, ")");
            }
        }
    }
    return err;
}

/* The end of the rest of the statement, without the semicolon. */
static size_t body_end(const struct cursor *at)
{
    size_t end = at->token.begin_off, off = end;
    for (;;) {
        struct hs_sql_token token = hs_sql_token_solid(at->place->text, at->end_off, off);
        if (token.kind == HS_SQL_TOKEN_END ||
            (hs_sql_token_is(at->place->text, token, ";") && token.begin_off + 1 == at->end_off)) {
            return end;
        }
        end = off = token.begin_off + token.bytes;
    }
}

static bool is_object(sqlite3 *db, const char *name)
{
    sqlite3_stmt *stmt = NULL;
    bool is_there = false;
    if (sqlite3_prepare_v2(db, "SELECT 1 FROM sqlite_temp_schema WHERE name = ?1 COLLATE NOCASE",
                           -1, &stmt, NULL) == SQLITE_OK) {
        sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
        is_there = sqlite3_step(stmt) == SQLITE_ROW;
    }
    sqlite3_finalize(stmt);
    return is_there;
}

static bool drop(sqlite3 *db, const char *kind, const char *name)
{
    char *text = sqlite3_mprintf("DROP %s IF EXISTS temp.\"%w\"", kind, name);
    bool is_done = text && sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK;
    sqlite3_free(text);
    return is_done;
}

/* Checks that the query has the columns that the schema declares. */
static int check_columns(struct cursor *at, const char *name, const struct hs_sql_signature *schema)
{
    for (size_t i = 0; i < schema->count; i++) {
        char *text = sqlite3_mprintf("SELECT 1 FROM pragma_table_info(%Q, 'temp') WHERE name = %Q "
                                     "COLLATE NOCASE",
                                     name, schema->names[i]);
        sqlite3_stmt *stmt = NULL;
        bool is_there = text &&
                        sqlite3_prepare_v2(at->sql->db, text, -1, &stmt, NULL) == SQLITE_OK &&
                        sqlite3_step(stmt) == SQLITE_ROW;
        sqlite3_finalize(stmt);
        sqlite3_free(text);
        if (!is_there) {
            return hs_sql_fail_at(
                at->sql, at->place, at->place->off,
                "the schema of %s declares a column %s that the query does not have", name,
                schema->names[i]);
        }
    }
    return 0;
}

static int make_relation(struct cursor *at, const char *kind, const char *name,
                         const struct hs_sql_signature *schema)
{
    struct hs_sql_text made = { 0 };
    hs_buf_init(&made.buf, NULL, NULL);
    char *start = sqlite3_mprintf("CREATE TEMP %s \"%w\" AS ", kind, name);
    hs_buf_str(&made.buf, start ? start : "");
    sqlite3_free(start);
    int err = hs_sql_expand(at->sql, at->place, at->token.begin_off, body_end(at), &made);
    err = err ? err : hs_sql_execute(at->sql, at->place, &made, NULL);
    if (err == 0) {
        err = check_columns(at, name, schema);
        if (err != 0) {
            drop(at->sql->db, kind, name);
        }
    }
    hs_sql_text_deinit(&made);
    return err;
}

static int create_relation(struct cursor *at, const char *kind, bool is_replacing)
{
    struct hs_sql_signature schema = { .count = 0 };
    char *name = NULL;
    int err = take_name(at, &name);
    if (err == 0 && is_next(at, "(")) {
        err = take_signature(at, &schema);
    }
    err = err ? err : expect(at, "AS");
    if (err == 0 && is_replacing) {
        /* If the name cannot be dropped because it is of the other kind, the CREATE reports it. */
        drop(at->sql->db, kind, name);
    }
    err = err ? err : make_relation(at, kind, name, &schema);
    hs_sql_signature_deinit(&schema);
    free(name);
    return err;
}

/* INDEX name ON table(columns) */
static int create_index(struct cursor *at, bool is_replacing)
{
    char *name = NULL, *table = NULL;
    int err = take_name(at, &name);
    err = err ? err : expect(at, "ON");
    size_t rest_off = at->token.begin_off;
    err = err ? err : take_name(at, &table);
    if (err == 0 && !is_object(at->sql->db, table)) {
        err = hs_sql_fail_at(
            at->sql, at->place, rest_off,
            "an index needs a table that was made with CREATE PERFETTO TABLE; %s is not one",
            table);
    }
    if (err == 0 && is_replacing) {
        drop(at->sql->db, "INDEX", name);
    }
    if (err == 0) {
        struct hs_sql_text made = { 0 };
        hs_buf_init(&made.buf, NULL, NULL);
        char *start = sqlite3_mprintf("CREATE INDEX temp.\"%w\" ON ", name);
        hs_buf_str(&made.buf, start ? start : "");
        sqlite3_free(start);
        err = hs_sql_expand(at->sql, at->place, rest_off, at->end_off, &made);
        err = err ? err : hs_sql_execute(at->sql, at->place, &made, NULL);
        hs_sql_text_deinit(&made);
    }
    free(table);
    free(name);
    return err;
}

static int define_from(struct cursor *at, const char *name, const struct hs_sql_signature *params,
                       const struct hs_sql_signature *columns)
{
    struct hs_sql_text made = { 0 };
    hs_buf_init(&made.buf, NULL, NULL);
    int err = hs_sql_expand(at->sql, at->place, at->token.begin_off, body_end(at), &made);
    if (err == 0 && made.buf.bytes == 0) {
        err = hs_sql_fail_at(at->sql, at->place, at->token.begin_off, "SELECT is expected here");
    }
    if (err == 0) {
        /* The body is checked here, so that its errors are reported when the function is made and
         * not when it is called. */
        sqlite3_stmt *stmt = NULL;
        const char *body = hs_buf_text(&made.buf);
        if (sqlite3_prepare_v2(at->sql->db, body, -1, &stmt, NULL) != SQLITE_OK) {
            err = hs_sql_fail_sqlite(at->sql, at->place, &made);
        } else if (!stmt || !sqlite3_stmt_readonly(stmt) ||
                   (columns->count > 0 ? sqlite3_column_count(stmt) != (int)columns->count
                                       : sqlite3_column_count(stmt) != 1)) {
            err = hs_sql_fail_at(at->sql, at->place, at->token.begin_off,
                                 "the body of %s must be a SELECT with %zu column%s", name,
                                 columns->count > 0 ? columns->count : 1,
                                 columns->count > 1 ? "s" : "");
        }
        sqlite3_finalize(stmt);
        if (err == 0) {
            err = hs_sql_define_function(at->sql, name, params, columns, body);
            err = err <= 0 ? err
                           : hs_sql_fail_at(at->sql, at->place, at->place->off,
                                            "cannot make the function %s: %s", name,
                                            sqlite3_errmsg(at->sql->db));
        }
    }
    hs_sql_text_deinit(&made);
    return err;
}

static int create_function(struct cursor *at, bool is_replacing)
{
    (void)is_replacing; /* SQLite replaces functions of the same name */
    struct hs_sql_signature params = { .count = 0 }, columns = { .count = 0 };
    char *name = NULL;
    int err = take_name(at, &name);
    err = err ? err : take_signature(at, &params);
    err = err ? err : expect(at, "RETURNS");
    if (err == 0 && take(at, "TABLE")) {
        err = take_signature(at, &columns);
    } else if (err == 0) {
        advance(at);
    }
    while (err == 0 && at->token.kind != HS_SQL_TOKEN_END && !is_next(at, "AS")) {
        advance(at); /* the parenthesis of a type: JOINID(x.id) */
    }
    err = err ? err : expect(at, "AS");
    err = err ? err : define_from(at, name, &params, &columns);
    hs_sql_signature_deinit(&params);
    hs_sql_signature_deinit(&columns);
    free(name);
    return err;
}

static int add_macro(struct hs_sql *sql, struct hs_sql_macro *macro)
{
    struct hs_sql_macro *known =
        macro->name ? hs_sql_macro_find(sql, macro->name, strlen(macro->name)) : NULL;
    if (known) {
        hs_sql_macro_deinit(known);
        *known = *macro;
        return 0;
    }
    int err = sql->macro_count >= HS_SQL_DEFINITIONS_MAX
                  ? -E2BIG
                  : hs_array_reserve(&sql->macros, &sql->macro_capacity, sql->macro_count + 1,
                                     sizeof(sql->macros[0]));
    if (err == 0) {
        sql->macros[sql->macro_count++] = *macro;
    }
    return err;
}

static int create_macro(struct cursor *at, bool is_replacing)
{
    struct hs_sql_signature params = { .count = 0 };
    struct hs_sql_macro macro = { 0 };
    size_t name_off = at->token.begin_off;
    int err = take_name(at, &macro.name);
    if (err == 0 && macro.name && !is_replacing &&
        hs_sql_macro_find(at->sql, macro.name, strlen(macro.name))) {
        err = hs_sql_fail_at(at->sql, at->place, name_off,
                             "there is a macro %s already; CREATE OR REPLACE PERFETTO MACRO "
                             "replaces it",
                             macro.name);
    }
    err = err ? err : take_signature(at, &params);
    err = err ? err : expect(at, "RETURNS");
    while (err == 0 && at->token.kind != HS_SQL_TOKEN_END && !is_next(at, "AS")) {
        advance(at);
    }
    err = err ? err : expect(at, "AS");
    if (err == 0) {
        size_t begin = at->token.begin_off, end = body_end(at);
        macro.body = strndup(at->place->text + begin, end - begin);
        macro.params = calloc(params.count + 1, sizeof(macro.params[0]));
        err = macro.body && macro.params ? 0 : -ENOMEM;
    }
    if (err == 0) {
        memcpy(macro.params, params.names, params.count * sizeof(params.names[0]));
        macro.param_count = params.count;
        params.count = 0;
        err = add_macro(at->sql, &macro);
    }
    if (err != 0) {
        hs_sql_macro_deinit(&macro);
    }
    hs_sql_signature_deinit(&params);
    return err;
}

int hs_sql_create(struct hs_sql *sql, const struct hs_sql_place *place, size_t off, size_t end_off,
                  bool is_replacing)
{
    struct cursor at = { sql, place, end_off, hs_sql_token_solid(place->text, end_off, off) };
    if (take(&at, "TABLE")) {
        return create_relation(&at, "TABLE", is_replacing);
    }
    if (take(&at, "VIEW")) {
        return create_relation(&at, "VIEW", is_replacing);
    }
    if (take(&at, "INDEX")) {
        return create_index(&at, is_replacing);
    }
    if (take(&at, "FUNCTION")) {
        return create_function(&at, is_replacing);
    }
    if (take(&at, "MACRO")) {
        return create_macro(&at, is_replacing);
    }
    return hs_sql_fail_at(sql, place, at.token.begin_off,
                          "TABLE, VIEW, INDEX, FUNCTION or MACRO is expected here");
}
