/*
 * CREATE PERFETTO FUNCTION: functions whose body is a SELECT.
 *
 * A function that returns a value is a function of SQLite. Its statement is prepared for each call,
 * because calls of one function can be nested. A function that returns a table is a virtual table,
 * whose hidden columns are the arguments: f(1, 2) in FROM sets them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/language/session_state.h"
#include "sql/store/virtual_table.h"

struct function {
    struct hs_sql *sql;
    char *name, *body, *schema; /* schema: only of a function that returns a table */
    struct hs_sql_signature params;
    size_t column_count; /* 0: the function returns a value */
};

struct function_table {
    sqlite3_vtab base;
    struct function *function;
};

struct function_cursor {
    sqlite3_vtab_cursor base;
    sqlite3_stmt *stmt;
    sqlite3_int64 row_id;
    bool is_end;
};

static void free_function(void *ctx)
{
    struct function *function = ctx;
    if (function) {
        hs_sql_signature_deinit(&function->params);
        free(function->name);
        free(function->body);
        sqlite3_free(function->schema);
        free(function);
    }
}

/* Prepares the body. On failure, the text of the error belongs to SQLite. */
static sqlite3_stmt *prepare(const struct function *function, char **ret_error)
{
    struct hs_sql *sql = function->sql;
    sqlite3_stmt *stmt = NULL;
    if (sql->call_depth >= HS_SQL_CALL_DEPTH) {
        *ret_error = sqlite3_mprintf("function %s calls itself more than %d times", function->name,
                                     HS_SQL_CALL_DEPTH);
        return NULL;
    }
    /* A short body never reaches the callback that checks the budget. */
    if (sql->has_budget && sql->kilosteps_left > 0) {
        sql->kilosteps_left--;
    }
    if (sql->has_budget && sql->kilosteps_left == 0) {
        *ret_error = sqlite3_mprintf("stopped: it takes too long");
        return NULL;
    }
    if (sqlite3_prepare_v3(sql->db, function->body, -1, 0, &stmt, NULL) != SQLITE_OK) {
        *ret_error = sqlite3_mprintf("in function %s: %s", function->name, sqlite3_errmsg(sql->db));
    }
    return stmt;
}

static void bind(const struct function *function, sqlite3_stmt *stmt, size_t param,
                 sqlite3_value *value)
{
    char name[256];
    snprintf(name, sizeof(name), "$%s", function->params.names[param]);
    int idx = sqlite3_bind_parameter_index(stmt, name);
    if (idx > 0) {
        sqlite3_bind_value(stmt, idx, value);
    }
}

static void call(sqlite3_context *context, int arg_count, sqlite3_value **args)
{
    struct function *function = sqlite3_user_data(context);
    char *error = NULL;
    sqlite3_stmt *stmt = prepare(function, &error);
    if (!stmt) {
        sqlite3_result_error(context, error ? error : "no memory", -1);
        sqlite3_free(error);
        return;
    }
    for (int i = 0; i < arg_count; i++) {
        bind(function, stmt, (size_t)i, args[i]);
    }
    function->sql->call_depth++;
    int code = sqlite3_step(stmt);
    function->sql->call_depth--;
    if (code == SQLITE_ROW) {
        sqlite3_result_value(context, sqlite3_column_value(stmt, 0));
    } else if (code == SQLITE_INTERRUPT) {
        sqlite3_result_error_code(context, code);
    } else if (code != SQLITE_DONE) {
        error = sqlite3_mprintf("in function %s: %s", function->name,
                                sqlite3_errmsg(function->sql->db));
        sqlite3_result_error(context, error ? error : "no memory", -1);
        sqlite3_free(error);
    }
    sqlite3_finalize(stmt);
}

static int table_connect(sqlite3 *db, void *aux, int arg_count, const char *const *args,
                         sqlite3_vtab **ret_table, char **ret_error)
{
    (void)arg_count;
    (void)args;
    (void)ret_error;
    struct function *function = aux;
    int code = hs_sql_table_new(db, function->schema, sizeof(struct function_table), ret_table);
    if (code == SQLITE_OK) {
        ((struct function_table *)*ret_table)->function = function;
    }
    return code;
}

static int table_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    struct function_table *table = (struct function_table *)base;
    int first = (int)table->function->column_count;
    size_t found = 0;
    for (int i = 0; i < info->nConstraint; i++) {
        if (info->aConstraint[i].iColumn < first ||
            info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ) {
            continue;
        }
        if (!info->aConstraint[i].usable) {
            return SQLITE_CONSTRAINT;
        }
        info->aConstraintUsage[i].argvIndex = info->aConstraint[i].iColumn - first + 1;
        info->aConstraintUsage[i].omit = 1;
        found++;
    }
    if (found != table->function->params.count) {
        hs_sql_table_say(base, sqlite3_mprintf("function %s takes %d arguments, %d are given",
                                               table->function->name,
                                               (int)table->function->params.count, (int)found));
        return SQLITE_ERROR;
    }
    info->estimatedCost = 1000;
    return SQLITE_OK;
}

static int table_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor)
{
    (void)table;
    return hs_sql_cursor_new(sizeof(struct function_cursor), ret_cursor);
}

static int table_close(sqlite3_vtab_cursor *base)
{
    struct function_cursor *cursor = (struct function_cursor *)base;
    sqlite3_finalize(cursor->stmt);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int table_next(sqlite3_vtab_cursor *base)
{
    struct function_cursor *cursor = (struct function_cursor *)base;
    struct function *function = ((struct function_table *)base->pVtab)->function;
    function->sql->call_depth++;
    int code = sqlite3_step(cursor->stmt);
    function->sql->call_depth--;
    cursor->is_end = code != SQLITE_ROW;
    cursor->row_id++;
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        hs_sql_table_say(base->pVtab, sqlite3_mprintf("in function %s: %s", function->name,
                                                      sqlite3_errmsg(function->sql->db)));
        return code == SQLITE_INTERRUPT ? code : SQLITE_ERROR;
    }
    return SQLITE_OK;
}

static int table_filter(sqlite3_vtab_cursor *base, int idx_number, const char *idx_text,
                        int arg_count, sqlite3_value **args)
{
    (void)idx_number;
    (void)idx_text;
    struct function_cursor *cursor = (struct function_cursor *)base;
    struct function *function = ((struct function_table *)base->pVtab)->function;
    sqlite3_finalize(cursor->stmt);
    hs_sql_table_say(base->pVtab, NULL);
    cursor->stmt = prepare(function, &base->pVtab->zErrMsg);
    cursor->row_id = 0;
    if (!cursor->stmt) {
        return SQLITE_ERROR;
    }
    for (int i = 0; i < arg_count; i++) {
        bind(function, cursor->stmt, (size_t)i, args[i]);
    }
    return table_next(base);
}

static int table_eof(sqlite3_vtab_cursor *base)
{
    return ((struct function_cursor *)base)->is_end;
}

static int table_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    struct function_cursor *cursor = (struct function_cursor *)base;
    if (column < sqlite3_column_count(cursor->stmt)) {
        sqlite3_result_value(context, sqlite3_column_value(cursor->stmt, column));
    }
    return SQLITE_OK;
}

static int table_row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_row_id)
{
    *ret_row_id = ((struct function_cursor *)base)->row_id;
    return SQLITE_OK;
}

static const sqlite3_module function_module = {
    .xConnect = table_connect,
    .xBestIndex = table_best_index,
    .xDisconnect = hs_sql_table_free,
    .xOpen = table_open,
    .xClose = table_close,
    .xFilter = table_filter,
    .xNext = table_next,
    .xEof = table_eof,
    .xColumn = table_column,
    .xRowid = table_row_id,
};

/* CREATE TABLE x(columns, hidden parameters) */
static char *schema_of(const struct hs_sql_signature *columns,
                       const struct hs_sql_signature *params)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendall(text, "CREATE TABLE x(");
    for (size_t i = 0; i < columns->count; i++) {
        sqlite3_str_appendf(text, "%s\"%w\"", i > 0 ? ", " : "", columns->names[i]);
    }
    for (size_t i = 0; i < params->count; i++) {
        /* Columns and parameters may have the same name. No query names the hidden columns. */
        sqlite3_str_appendf(text, ", \"__arg%d_%w\" HIDDEN", (int)i, params->names[i]);
    }
    sqlite3_str_appendall(text, ")");
    return sqlite3_str_finish(text);
}

static int copy_names(const struct hs_sql_signature *from, struct hs_sql_signature *to)
{
    for (to->count = 0; to->count < from->count; to->count++) {
        to->names[to->count] = strdup(from->names[to->count]);
        if (!to->names[to->count]) {
            return -ENOMEM;
        }
    }
    return 0;
}

int hs_sql_define_function(struct hs_sql *sql, const char *name,
                           const struct hs_sql_signature *params,
                           const struct hs_sql_signature *columns, const char *body)
{
    if (++sql->function_count > HS_SQL_DEFINITIONS_MAX) {
        return -E2BIG;
    }
    struct function *function = calloc(1, sizeof(*function));
    if (!function) {
        return -ENOMEM;
    }
    function->sql = sql;
    function->name = strdup(name);
    function->body = strdup(body);
    function->column_count = columns->count;
    function->schema = columns->count > 0 ? schema_of(columns, params) : NULL;
    if (!function->name || !function->body || copy_names(params, &function->params) < 0 ||
        (columns->count > 0 && !function->schema)) {
        free_function(function);
        return -ENOMEM;
    }
    int code =
        columns->count > 0
            ? sqlite3_create_module_v2(sql->db, name, &function_module, function, free_function)
            : sqlite3_create_function_v2(sql->db, name, (int)params->count,
                                         SQLITE_UTF8 | SQLITE_INNOCUOUS, function, call, NULL, NULL,
                                         free_function);
    return code == SQLITE_OK ? 0 : 1;
}
