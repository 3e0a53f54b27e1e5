/* Runs a text of statements: translates each into SQLite's language, prepares it and steps it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base.h"
#include "sql/language/session_state.h"

#define PROGRESS_STEPS 1000 /* steps between two checks of what can stop a statement */

static int on_progress(void *ctx)
{
    struct hs_sql *sql = ctx;
    if (sql->has_budget) {
        if (sql->kilosteps_left == 0) {
            sql->is_exhausted = true;
            return 1;
        }
        sql->kilosteps_left--;
    }
    return sql->stop && *sql->stop ? 1 : 0;
}

int hs_sql_secure(sqlite3 *db)
{
    static const struct {
        int id, value;
    } limits[] = {
        { SQLITE_LIMIT_ATTACHED, 0 },
        { SQLITE_LIMIT_SQL_LENGTH, (int)HS_SQL_TEXT_BYTES_MAX + 4096 },
        { SQLITE_LIMIT_EXPR_DEPTH, 1000 },
        { SQLITE_LIMIT_TRIGGER_DEPTH, 50 },
        { SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 10000 },
        { SQLITE_LIMIT_LENGTH, 256 << 20 },
    };
    for (size_t i = 0; i < HS_COUNT_OF(limits); i++) {
        sqlite3_limit(db, limits[i].id, limits[i].value);
    }
    bool is_fine =
        sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) == SQLITE_OK &&
        sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) == SQLITE_OK &&
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL) == SQLITE_OK &&
        sqlite3_exec(db, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", NULL, NULL, NULL) ==
            SQLITE_OK;
    return is_fine ? 0 : -EIO;
}

int hs_sql_new(sqlite3 *db, struct hs_sql **ret_sql)
{
    struct hs_sql *sql = calloc(1, sizeof(*sql));
    if (!sql) {
        return -ENOMEM;
    }
    sql->db = db;
    hs_buf_init(&sql->error, NULL, NULL);
    if (hs_sql_register_functions(sql) != SQLITE_OK) {
        hs_sql_free(sql);
        return -ENOMEM;
    }
    sqlite3_progress_handler(db, PROGRESS_STEPS, on_progress, sql);
    *ret_sql = sql;
    return 0;
}

struct hs_sql *hs_sql_free(struct hs_sql *sql)
{
    if (!sql) {
        return NULL;
    }
    sqlite3_progress_handler(sql->db, 0, NULL, NULL);
    for (size_t i = 0; i < sql->macro_count; i++) {
        hs_sql_macro_deinit(&sql->macros[i]);
    }
    free(sql->macros);
    hs_stack_forest_deinit(&sql->forest);
    hs_buf_deinit(&sql->error);
    free(sql);
    return NULL;
}

void hs_sql_set_stop(struct hs_sql *sql, volatile sig_atomic_t *stop)
{
    sql->stop = stop;
}

void hs_sql_set_budget(struct hs_sql *sql, uint64_t kilosteps)
{
    sql->has_budget = kilosteps > 0;
    sql->is_exhausted = false;
    sql->kilosteps_left = kilosteps;
}

static int step_all(struct hs_sql *sql, const struct hs_sql_place *place,
                    const struct hs_sql_text *made, sqlite3_stmt *stmt,
                    const struct hs_sql_rows *rows)
{
    bool has_rows = rows && sqlite3_column_count(stmt) > 0;
    int err = has_rows && rows->begin ? rows->begin(rows->ctx, stmt) : 0;
    while (err == 0) {
        int code = sqlite3_step(stmt);
        if (code == SQLITE_DONE) {
            return has_rows && rows->end ? rows->end(rows->ctx, stmt) : 0;
        }
        if (code != SQLITE_ROW) {
            return hs_sql_fail_sqlite(sql, place, made);
        }
        err = has_rows && rows->row ? rows->row(rows->ctx, stmt) : 0;
    }
    return err;
}

int hs_sql_execute(struct hs_sql *sql, const struct hs_sql_place *place, struct hs_sql_text *made,
                   const struct hs_sql_rows *rows)
{
    sqlite3_stmt *stmt = NULL;
    const char *text = hs_buf_text(&made->buf);
    if (made->buf.err) {
        return made->buf.err;
    }
    /* SQLite would stop at a NUL and silently ignore the text behind it. */
    const char *nul = memchr(text, 0, made->buf.bytes);
    if (nul) {
        return hs_sql_fail_at(sql, place, hs_sql_text_source(made, (size_t)(nul - text)),
                              "there is a NUL byte in the text");
    }
    if (sqlite3_prepare_v2(sql->db, text, (int)made->buf.bytes, &stmt, NULL) != SQLITE_OK) {
        return hs_sql_fail_sqlite(sql, place, made);
    }
    int err = stmt ? step_all(sql, place, made, stmt, rows) : 0;
    sqlite3_finalize(stmt);
    return err;
}

/* If a CREATE of one of SQLite's own kinds does not say where to create, returns the word to
 * insert, and where. */
static const char *temporary_word(const char *text, size_t end, struct hs_sql_token first,
                                  size_t *ret_off)
{
    struct hs_sql_token kind = first;
    bool is_unique = hs_sql_token_is(text, kind, "UNIQUE");
    bool is_virtual = hs_sql_token_is(text, kind, "VIRTUAL");
    *ret_off = kind.begin_off;
    if (hs_sql_token_is(text, kind, "TABLE") || hs_sql_token_is(text, kind, "VIEW") ||
        hs_sql_token_is(text, kind, "TRIGGER")) {
        return "TEMP ";
    }
    if (is_unique || is_virtual) {
        kind = hs_sql_token_solid(text, end, kind.begin_off + kind.bytes);
    }
    if (!hs_sql_token_is(text, kind, is_virtual ? "TABLE" : "INDEX")) {
        return NULL;
    }
    struct hs_sql_token name = hs_sql_token_solid(text, end, kind.begin_off + kind.bytes);
    for (unsigned i = 0; i < 3 && hs_sql_token_is(text, name,
                                                  i == 0   ? "IF"
                                                  : i == 1 ? "NOT"
                                                           : "EXISTS");
         i++) {
        name = hs_sql_token_solid(text, end, name.begin_off + name.bytes);
    }
    struct hs_sql_token dot = hs_sql_token_solid(text, end, name.begin_off + name.bytes);
    *ret_off = name.begin_off;
    return hs_sql_token_is(text, dot, ".") ? NULL : "temp.";
}

static int run_sqlite(struct hs_sql *sql, const struct hs_sql_place *place, size_t end,
                      struct hs_sql_token first, const struct hs_sql_rows *rows)
{
    struct hs_sql_text made = { 0 };
    hs_buf_init(&made.buf, NULL, NULL);
    size_t insert_off = 0;
    const char *word = NULL;
    if (hs_sql_token_is(place->text, first, "CREATE")) {
        struct hs_sql_token next =
            hs_sql_token_solid(place->text, end, first.begin_off + first.bytes);
        word = temporary_word(place->text, end, next, &insert_off);
    }
    int err = 0;
    if (word) {
        err = hs_sql_expand(sql, place, place->off, insert_off, &made);
        hs_buf_str(&made.buf, word);
    }
    if (err == 0) {
        err = hs_sql_expand(sql, place, word ? insert_off : place->off, end, &made);
    }
    err = err ? err : hs_sql_execute(sql, place, &made, rows);
    hs_sql_text_deinit(&made);
    return err;
}

/* Runs INCLUDE PERFETTO MODULE a.b.c; `off` is behind MODULE. */
static int run_include(struct hs_sql *sql, const struct hs_sql_place *place, size_t off, size_t end,
                       unsigned depth)
{
    char name[256];
    size_t bytes = 0, name_off = 0;
    struct hs_sql_token token = hs_sql_token_solid(place->text, end, off);
    name_off = token.begin_off;
    while (token.kind != HS_SQL_TOKEN_END && !hs_sql_token_is(place->text, token, ";")) {
        if (bytes + token.bytes >= sizeof(name) ||
            (token.kind != HS_SQL_TOKEN_WORD && !hs_sql_token_is(place->text, token, ".") &&
             !hs_sql_token_is(place->text, token, "*"))) {
            return hs_sql_fail_at(sql, place, token.begin_off, "this is not the name of a module");
        }
        memcpy(name + bytes, place->text + token.begin_off, token.bytes);
        bytes += token.bytes;
        token = hs_sql_token_solid(place->text, end, token.begin_off + token.bytes);
    }
    name[bytes] = '\0';
    return hs_sql_include(sql, place, name_off, name, depth);
}

static int run_statement(struct hs_sql *sql, const struct hs_sql_place *place, size_t end,
                         const struct hs_sql_rows *rows, unsigned depth)
{
    const char *text = place->text;
    struct hs_sql_token words[5];
    size_t off = place->off;
    for (size_t i = 0; i < HS_COUNT_OF(words); i++) {
        words[i] = hs_sql_token_solid(text, end, off);
        off = words[i].begin_off + words[i].bytes;
    }
    if (hs_sql_token_is(text, words[0], "INCLUDE") && hs_sql_token_is(text, words[1], "PERFETTO")) {
        return hs_sql_token_is(text, words[2], "MODULE")
                   ? run_include(sql, place, words[2].begin_off + words[2].bytes, end, depth)
                   : hs_sql_fail_at(sql, place, words[2].begin_off,
                                    "MODULE is expected: INCLUDE PERFETTO MODULE name");
    }
    bool is_replacing =
        hs_sql_token_is(text, words[1], "OR") && hs_sql_token_is(text, words[2], "REPLACE");
    struct hs_sql_token kind = words[is_replacing ? 3 : 1];
    if (hs_sql_token_is(text, words[0], "CREATE") && hs_sql_token_is(text, kind, "PERFETTO")) {
        return hs_sql_create(sql, place, kind.begin_off + kind.bytes, end, is_replacing);
    }
    return run_sqlite(sql, place, end, words[0], rows);
}

int hs_sql_run_script(struct hs_sql *sql, const char *text, size_t bytes, const char *origin,
                      const struct hs_sql_rows *rows, unsigned depth)
{
    int err = 0;
    size_t off = 0;
    while (err == 0) {
        struct hs_sql_token token = hs_sql_token_solid(text, bytes, off);
        if (token.kind == HS_SQL_TOKEN_END) {
            break;
        }
        if (hs_sql_token_is(text, token, ";")) {
            off = token.begin_off + 1;
            continue;
        }
        bool is_complete;
        const struct hs_sql_place place = { origin, text, bytes, token.begin_off };
        size_t end = hs_sql_token_statement_end(text, bytes, token.begin_off, &is_complete);
        err = run_statement(sql, &place, end, rows, depth);
        off = end;
    }
    return err;
}

int hs_sql_run(struct hs_sql *sql, const char *text, size_t bytes, const char *origin,
               const struct hs_sql_rows *rows)
{
    hs_buf_clear(&sql->error);
    return hs_sql_run_script(sql, text, bytes, origin, rows, 0);
}
