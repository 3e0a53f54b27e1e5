/*
 * See materialized_table.h.
 */
#include "sql/store/materialized_table.h"

#include <string.h>

#include "sql/store/virtual_table.h"

#define HAS_ARGUMENT 1
#define HAS_ID       2
#define ROWS_GUESS   100000

struct registered {
    const struct hs_materialized_table *made;
    void *ctx;
};

struct table {
    sqlite3_vtab base;
    sqlite3 *db;
    const struct hs_materialized_table *made;
    void *ctx;
    void *rows; /* NULL: not made yet, or each cursor has its own rows */
    bool is_making;
};

struct cursor {
    sqlite3_vtab_cursor base;
    void *own_rows;
    const void *rows;
    uint32_t row, end;
};

static int check_needs(sqlite3 *db, const char *needs, char **ret_error)
{
    sqlite3_stmt *stmt = NULL;
    int code = needs ? sqlite3_prepare_v2(db, needs, -1, &stmt, NULL) : SQLITE_OK;
    sqlite3_finalize(stmt);
    if (code != SQLITE_OK) {
        *ret_error = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    }
    return code;
}

static int table_connect(sqlite3 *db, void *aux, int arg_count, const char *const *args,
                         sqlite3_vtab **ret_table, char **ret_error)
{
    (void)arg_count;
    (void)args;
    const struct registered *registered = aux;
    int code = check_needs(db, registered->made->needs, ret_error);
    code = code ? code
                : hs_sql_table_new(db, registered->made->schema, sizeof(struct table), ret_table);
    if (code == SQLITE_OK) {
        struct table *table = (struct table *)*ret_table;
        table->db = db;
        table->made = registered->made;
        table->ctx = registered->ctx;
    }
    return code;
}

static int table_disconnect(sqlite3_vtab *base)
{
    struct table *table = (struct table *)base;
    if (table->rows) {
        table->made->free(table->rows);
    }
    return hs_sql_table_free(base);
}

static int table_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const struct hs_materialized_table *made = ((struct table *)base)->made;
    int argument = -1, id = -1;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
        if (constraint->op != SQLITE_INDEX_CONSTRAINT_EQ) {
            continue;
        }
        bool is_argument =
            made->argument_column > 0 && constraint->iColumn == made->argument_column;
        if (is_argument && !constraint->usable) {
            return SQLITE_CONSTRAINT;
        }
        argument = is_argument ? i : argument;
        id = made->find && constraint->iColumn == 0 && constraint->usable ? i : id;
    }
    int next = 1;
    if (argument >= 0) {
        info->aConstraintUsage[argument].argvIndex = next++;
        info->aConstraintUsage[argument].omit = 1;
        info->idxNum |= HAS_ARGUMENT;
    }
    if (id >= 0) {
        info->aConstraintUsage[id].argvIndex = next;
        info->idxNum |= HAS_ID;
        info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
    }
    info->estimatedCost = id >= 0 ? 1 : ROWS_GUESS;
    info->estimatedRows = id >= 0 ? 1 : ROWS_GUESS;
    info->orderByConsumed = made->find && info->nOrderBy == 1 && !info->aOrderBy[0].desc &&
                            info->aOrderBy[0].iColumn <= 0;
    return SQLITE_OK;
}

static int table_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor)
{
    (void)table;
    return hs_sql_cursor_new(sizeof(struct cursor), ret_cursor);
}

static void forget_rows(struct cursor *cursor)
{
    if (cursor->own_rows) {
        ((struct table *)cursor->base.pVtab)->made->free(cursor->own_rows);
    }
    cursor->own_rows = NULL;
    cursor->rows = NULL;
}

static int table_close(sqlite3_vtab_cursor *base)
{
    forget_rows((struct cursor *)base);
    sqlite3_free(base);
    return SQLITE_OK;
}

static int make_rows(struct cursor *cursor, sqlite3_value *argument)
{
    struct table *table = (struct table *)cursor->base.pVtab;
    bool is_own = table->made->argument_column > 0;
    void **rows = is_own ? &cursor->own_rows : &table->rows;
    int code = SQLITE_OK;
    if (table->is_making) {
        hs_sql_table_say(&table->base, sqlite3_mprintf("the table depends on itself"));
        return SQLITE_ERROR;
    }
    if (!*rows) {
        char *error = NULL;
        table->is_making = true;
        code = table->made->make(table->db, table->ctx, argument, rows, &error);
        table->is_making = false;
        hs_sql_table_say(&table->base, error);
    }
    cursor->rows = code == SQLITE_OK ? *rows : NULL;
    return code;
}

static int table_filter(sqlite3_vtab_cursor *base, int plan, const char *plan_text, int arg_count,
                        sqlite3_value **args)
{
    (void)plan_text;
    (void)arg_count;
    struct cursor *cursor = (struct cursor *)base;
    const struct hs_materialized_table *made = ((struct table *)base->pVtab)->made;
    forget_rows(cursor);
    cursor->row = cursor->end = 0;
    int code = make_rows(cursor, plan & HAS_ARGUMENT ? args[0] : NULL);
    if (code != SQLITE_OK) {
        return code;
    }
    cursor->end = made->count(cursor->rows);
    if (plan & HAS_ID) {
        sqlite3_value *id = args[plan & HAS_ARGUMENT ? 1 : 0];
        bool is_number = sqlite3_value_numeric_type(id) == SQLITE_INTEGER ||
                         sqlite3_value_numeric_type(id) == SQLITE_FLOAT;
        /* SQLite checks the condition once more, so 1.5 finds no row. */
        bool is_there =
            is_number && made->find(cursor->rows, sqlite3_value_int64(id), &cursor->row);
        cursor->end = is_there ? cursor->row + 1 : cursor->row;
    }
    return SQLITE_OK;
}

static int table_next(sqlite3_vtab_cursor *base)
{
    ((struct cursor *)base)->row++;
    return SQLITE_OK;
}

static int table_eof(sqlite3_vtab_cursor *base)
{
    const struct cursor *cursor = (struct cursor *)base;
    return cursor->row >= cursor->end;
}

static int table_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const struct cursor *cursor = (struct cursor *)base;
    const struct hs_materialized_table *made = ((struct table *)base->pVtab)->made;
    if (made->argument_column == 0 || column < made->argument_column) {
        made->column(cursor->rows, cursor->row, column, context);
    }
    return SQLITE_OK;
}

static int table_row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_row_id)
{
    *ret_row_id = ((struct cursor *)base)->row;
    return SQLITE_OK;
}

#define METHODS                                                                                    \
    .xConnect = table_connect, .xBestIndex = table_best_index, .xDisconnect = table_disconnect,    \
    .xOpen = table_open, .xClose = table_close, .xFilter = table_filter, .xNext = table_next,      \
    .xEof = table_eof, .xColumn = table_column, .xRowid = table_row_id

int hs_materialized_table_register(sqlite3 *db, const struct hs_materialized_table *table,
                                   void *ctx)
{
    static const sqlite3_module created = { .xCreate = table_connect,
                                            .xDestroy = table_disconnect,
                                            METHODS };
    static const sqlite3_module function = { METHODS };
    struct registered *registered = sqlite3_malloc(sizeof(*registered));
    if (!registered) {
        return SQLITE_NOMEM;
    }
    *registered = (struct registered){ table, ctx };
    return sqlite3_create_module_v2(db, table->name,
                                    table->argument_column > 0 ? &function : &created, registered,
                                    sqlite3_free);
}
