/*
 * See rows_module.h.
 */
#include "sql/store/rows_module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rt/base.h"
#include "sql/store/sql_store.h"

/* Values of idxNum: all rows as stored; all rows sorted by the columns in idxStr, in which "a" is
 * the first column; otherwise 1 + the column that has a given value. */
#define PLAN_ALL   0
#define PLAN_ORDER (-1)

/* The rows of a chain are at unrelated places in memory. */
#define LOOKUP_COST(row_count) (4 + 2 * (row_count))

struct table {
    sqlite3_vtab base;
    struct hs_sql_store *store;
    enum hs_sql_table id;
    struct hs_rows *rows;
};

struct cursor {
    sqlite3_vtab_cursor base;
    uint32_t row; /* HS_ROWS_NONE: at the end */
    uint32_t column;
    int64_t value;
    bool is_lookup;
    const struct hs_rows_order *order; /* NULL: the rows as stored */
    uint32_t place;                    /* index of the row in the order */
};

static const char *sql_type(enum hs_rows_type type)
{
    return type == HS_ROWS_TEXT ? "TEXT" : type == HS_ROWS_REAL ? "REAL" : "INTEGER";
}

static char *declaration(const struct hs_rows *rows)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendall(text, "CREATE TABLE x(");
    for (uint32_t i = 0; i < rows->column_count; i++) {
        const struct hs_rows_column *column = &rows->columns[i];
        sqlite3_str_appendf(text, "%s\"%.*s\" %s", i > 0 ? ", " : "", (int)column->name_bytes,
                            column->name, sql_type(column->type));
    }
    sqlite3_str_appendall(text, ")");
    return sqlite3_str_finish(text);
}

static int connect_table(sqlite3 *db, void *ctx, int argc, const char *const *argv,
                         sqlite3_vtab **ret_table, char **ret_error)
{
    struct hs_sql_store *store = ctx;
    enum hs_sql_table id = argc > 3 ? hs_sql_store_find(store, argv[3]) : HS_SQL_TABLES_N;
    if (id == HS_SQL_TABLES_N) {
        *ret_error = sqlite3_mprintf("heapscope has no such table: %s", argc > 3 ? argv[3] : "");
        return SQLITE_ERROR;
    }
    char *text = declaration(&store->tables[id]);
    if (!text) {
        return SQLITE_NOMEM;
    }
    int result = sqlite3_declare_vtab(db, text);
    sqlite3_free(text);
    struct table *table = result == SQLITE_OK ? calloc(1, sizeof(*table)) : NULL;
    if (!table) {
        return result == SQLITE_OK ? SQLITE_NOMEM : result;
    }
    sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    *table = (struct table){ .store = store, .id = id, .rows = &store->tables[id] };
    *ret_table = &table->base;
    return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *base)
{
    free(base);
    return SQLITE_OK;
}

/* Fills the table if its rows come from the profile and not from the packets. This happens when
 * they are first read. */
static int fill(struct table *table)
{
    int err = hs_sql_store_need(table->store, table->id);
    if (err < 0) {
        table->base.zErrMsg = sqlite3_mprintf("%s: %s", table->rows->name, strerror(-err));
        return err == -ENOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
    }
    return SQLITE_OK;
}

static bool is_fit(sqlite3_index_info *info, int i, const struct hs_rows *rows)
{
    const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
    if (!constraint->usable || constraint->op != SQLITE_INDEX_CONSTRAINT_EQ ||
        constraint->iColumn < 0 || rows->columns[constraint->iColumn].type == HS_ROWS_REAL) {
        return false;
    }
    return rows->columns[constraint->iColumn].type != HS_ROWS_TEXT ||
           sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0;
}

/* The index of the constraint that leaves the fewest rows; -1: none is usable. */
static int choose(sqlite3_index_info *info, struct hs_rows *rows, double *ret_rows)
{
    int best = -1;
    for (int i = 0; i < info->nConstraint; i++) {
        if (is_fit(info, i, rows)) {
            double count = hs_rows_per_value(rows, (uint32_t)info->aConstraint[i].iColumn);
            if (best < 0 || count < *ret_rows) {
                best = i;
                *ret_rows = count;
            }
        }
    }
    return best;
}

static void plan_lookup(sqlite3_index_info *info, const struct hs_rows *rows, int i,
                        double row_count)
{
    enum hs_rows_type type = rows->columns[info->aConstraint[i].iColumn].type;
    info->aConstraintUsage[i].argvIndex = 1;
    /* For texts, SQLite's rules of equality are more than an index can check. */
    info->aConstraintUsage[i].omit = type != HS_ROWS_TEXT;
    info->idxNum = 1 + info->aConstraint[i].iColumn;
    info->estimatedRows = (sqlite3_int64)row_count + 1;
    if (type == HS_ROWS_NUMBER) {
        info->estimatedCost = 1;
        info->estimatedRows = 1;
        info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
    } else {
        info->estimatedCost = LOOKUP_COST(row_count);
    }
}

/* Sets `letters` to the order that the query asks for, if rows can be returned in it: "aXY", one
 * letter per column. Empty: they cannot. */
static void order_letters(sqlite3_index_info *info, const struct hs_rows *rows, char *letters)
{
    /* A GROUP BY may be followed by an ORDER BY of the same columns, and is not told apart from it:
     * then SQLite takes the rows as they come. */
    bool is_grouping = info->nOrderBy > 0 && sqlite3_vtab_distinct(info) == 1;
    int count = info->nOrderBy <= (int)HS_ROWS_ORDER_MAX ? info->nOrderBy : 0;
    for (int i = 0; i < count; i++) {
        int column = info->aOrderBy[i].iColumn;
        enum hs_rows_type type = column < 0 ? HS_ROWS_REAL : rows->columns[column].type;
        bool is_number = type == HS_ROWS_INT || type == HS_ROWS_NUMBER;
        bool is_fine =
            (is_number || (is_grouping && type == HS_ROWS_TEXT)) && !info->aOrderBy[i].desc;
        if (!is_fine) {
            count = 0;
            break;
        }
        letters[i] = (char)('a' + column);
    }
    letters[count] = '\0';
}

/* A join by a column looks up something for each of its values, which is fastest if equal values
 * are adjacent. */
static void join_letter(const sqlite3_index_info *info, const struct hs_rows *rows, char *letters)
{
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
        if (!constraint->usable && constraint->op == SQLITE_INDEX_CONSTRAINT_EQ &&
            constraint->iColumn >= 0 && rows->columns[constraint->iColumn].type == HS_ROWS_INT) {
            letters[0] = (char)('a' + constraint->iColumn);
            letters[1] = '\0';
            return;
        }
    }
}

static int plan_scan(sqlite3_index_info *info, const struct hs_rows *rows)
{
    char letters[HS_ROWS_ORDER_MAX + 1] = "";
    info->idxNum = PLAN_ALL;
    info->estimatedCost = rows->count + 1.0;
    info->estimatedRows = (sqlite3_int64)rows->count + 1;
    if (info->orderByConsumed) {
        return SQLITE_OK;
    }
    order_letters(info, rows, letters);
    info->orderByConsumed = letters[0] != '\0';
    if (info->nOrderBy == 0) {
        join_letter(info, rows, letters);
    }
    if (letters[0] != '\0') {
        info->idxNum = PLAN_ORDER;
        info->idxStr = sqlite3_mprintf("%s", letters);
        info->needToFreeIdxStr = 1;
        return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
    }
    return SQLITE_OK;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    struct table *table = (struct table *)base;
    struct hs_rows *rows = table->rows;
    int result = fill(table);
    if (result != SQLITE_OK) {
        return result;
    }
    /* Rows are returned as stored, unless another order was chosen. */
    info->orderByConsumed = info->nOrderBy == 1 && !info->aOrderBy[0].desc &&
                            (info->aOrderBy[0].iColumn < 0 ||
                             rows->columns[info->aOrderBy[0].iColumn].type == HS_ROWS_NUMBER);
    double row_count = 0;
    int best = choose(info, rows, &row_count);
    /* A value that most rows have is found faster by a scan of all rows. */
    bool is_rare =
        best >= 0 && (rows->columns[info->aConstraint[best].iColumn].type == HS_ROWS_NUMBER ||
                      LOOKUP_COST(row_count) < rows->count);
    if (!is_rare) {
        return plan_scan(info, rows);
    }
    plan_lookup(info, rows, best, row_count);
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor)
{
    (void)base;
    struct cursor *cursor = calloc(1, sizeof(*cursor));
    if (!cursor) {
        return SQLITE_NOMEM;
    }
    *ret_cursor = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    free(base);
    return SQLITE_OK;
}

enum wanted { WANT_NOTHING, WANT_VALUE, WANT_ALL };

/* Finds the integer that an equal cell contains. It must be exact, because SQLite does not check
 * again. */
static enum wanted wanted_integer(sqlite3_value *arg, int64_t *ret_value)
{
    const double limit = 9223372036854775808.0; /* 2^63 */
    double real;
    switch (sqlite3_value_numeric_type(arg)) {
    case SQLITE_INTEGER:
        *ret_value = sqlite3_value_int64(arg);
        break;
    case SQLITE_FLOAT:
        real = sqlite3_value_double(arg);
        if (!(real >= -limit && real < limit) || (double)(int64_t)real != real) {
            return WANT_NOTHING;
        }
        *ret_value = (int64_t)real;
        break;
    default:
        return WANT_NOTHING; /* texts and blobs are not integers */
    }
    return *ret_value == HS_ROWS_NULL ? WANT_NOTHING : WANT_VALUE;
}

static enum wanted wanted_value(const struct table *table, uint32_t column, sqlite3_value *arg,
                                int64_t *ret_value)
{
    if (sqlite3_value_type(arg) == SQLITE_NULL) {
        return WANT_NOTHING;
    }
    if (table->rows->columns[column].type != HS_ROWS_TEXT) {
        return wanted_integer(arg, ret_value);
    }
    if (sqlite3_value_type(arg) != SQLITE_TEXT) {
        return WANT_ALL;
    }
    const char *text = (const char *)sqlite3_value_text(arg);
    return hs_sql_store_find_text(table->store, text, (size_t)sqlite3_value_bytes(arg), ret_value)
               ? WANT_VALUE
               : WANT_NOTHING;
}

/* As SQLite compares texts: byte by byte. */
static int compare_texts(const void *id, const void *other_id, void *ctx)
{
    size_t bytes, other_bytes;
    const char *text = hs_sql_store_text(ctx, *(const uint32_t *)id, &bytes);
    const char *other = hs_sql_store_text(ctx, *(const uint32_t *)other_id, &other_bytes);
    int result = memcmp(text, other, bytes < other_bytes ? bytes : other_bytes);
    return result != 0 ? result : (bytes > other_bytes) - (bytes < other_bytes);
}

static int begin_order(struct cursor *cursor, struct hs_sql_store *store, struct hs_rows *rows,
                       const char *letters)
{
    const struct hs_rows_texts texts = { .count = store->text_ids.count,
                                         .compare = compare_texts,
                                         .ctx = store };
    uint8_t columns[HS_ROWS_ORDER_MAX];
    uint32_t count = 0;
    for (; letters[count] != '\0' && count < HS_ROWS_ORDER_MAX; count++) {
        columns[count] = (uint8_t)(letters[count] - 'a');
    }
    cursor->order = hs_rows_order(rows, columns, count, &texts);
    if (!cursor->order) {
        return SQLITE_NOMEM;
    }
    cursor->place = 0;
    cursor->row = rows->count > 0 ? cursor->order->rows[0] : HS_ROWS_NONE;
    return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int plan, const char *letters, int argc,
                  sqlite3_value **argv)
{
    struct cursor *cursor = (struct cursor *)base;
    struct table *table = (struct table *)base->pVtab;
    int result = fill(table);
    if (result != SQLITE_OK) {
        return result;
    }
    cursor->is_lookup = false;
    cursor->order = NULL;
    cursor->row = table->rows->count > 0 ? 0 : HS_ROWS_NONE;
    if (plan == PLAN_ORDER && letters) {
        return begin_order(cursor, table->store, table->rows, letters);
    }
    if (plan <= PLAN_ALL || argc < 1) {
        return SQLITE_OK;
    }
    cursor->column = (uint32_t)plan - 1;
    switch (wanted_value(table, cursor->column, argv[0], &cursor->value)) {
    case WANT_NOTHING:
        cursor->row = HS_ROWS_NONE;
        break;
    case WANT_VALUE:
        if (hs_rows_index(table->rows, cursor->column) < 0) {
            return SQLITE_NOMEM;
        }
        cursor->is_lookup = true;
        cursor->row = hs_rows_first(table->rows, cursor->column, cursor->value);
        break;
    case WANT_ALL:
        break;
    }
    return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;
    const struct hs_rows *rows = ((struct table *)base->pVtab)->rows;
    if (cursor->is_lookup) {
        cursor->row = hs_rows_next(rows, cursor->column, cursor->row, cursor->value);
    } else if (cursor->order) {
        cursor->row =
            ++cursor->place < rows->count ? cursor->order->rows[cursor->place] : HS_ROWS_NONE;
    } else if (++cursor->row >= rows->count) {
        cursor->row = HS_ROWS_NONE;
    }
    return SQLITE_OK;
}

static int is_at_end(sqlite3_vtab_cursor *base)
{
    return ((struct cursor *)base)->row == HS_ROWS_NONE;
}

static int column_value(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const struct table *table = (struct table *)base->pVtab;
    int64_t value = hs_rows_get(table->rows, ((struct cursor *)base)->row, (uint32_t)column);
    size_t bytes;
    double real;
    if (value == HS_ROWS_NULL) {
        return SQLITE_OK;
    }
    switch (table->rows->columns[column].type) {
    case HS_ROWS_TEXT: {
        /* Texts stay where they are as long as the connection lives. */
        const char *text = hs_sql_store_text(table->store, value, &bytes);
        sqlite3_result_text64(context, text, bytes, SQLITE_STATIC, SQLITE_UTF8);
        break;
    }
    case HS_ROWS_REAL:
        memcpy(&real, &value, sizeof(real));
        sqlite3_result_double(context, real);
        break;
    case HS_ROWS_INT:
    case HS_ROWS_NUMBER:
        sqlite3_result_int64(context, value);
        break;
    }
    return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_id)
{
    *ret_id = ((struct cursor *)base)->row;
    return SQLITE_OK;
}

static void free_store(void *store)
{
    hs_sql_store_free(store);
}

int hs_rows_module_register(sqlite3 *db, struct hs_sql_store *store)
{
    static const sqlite3_module module = {
        .xCreate = connect_table,
        .xConnect = connect_table,
        .xBestIndex = best_index,
        .xDisconnect = disconnect_table,
        .xDestroy = disconnect_table,
        .xOpen = open_cursor,
        .xClose = close_cursor,
        .xFilter = filter,
        .xNext = next_row,
        .xEof = is_at_end,
        .xColumn = column_value,
        .xRowid = row_id,
    };
    return sqlite3_create_module_v2(db, "heapscope_rows", &module, store, free_store);
}
