/*
 * The virtual table __intrinsic_flamegraph. Its query runs when the table is made. The graph is
 * made at each use, with the configuration in the parentheses after the table's name.
 *
 * Rows are the nodes. The super root, which contains all of them, is a row only if the query asks
 * for it: WHERE __intrinsic_flamegraph_find(_tree_id, 'SUPER_ROOT').
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rt/base.h"
#include "sql/flamegraph/flamegraph_query.h"
#include "sql/language/session_state.h"
#include "sql/store/virtual_table.h"

#define FIND_OP       SQLITE_INDEX_CONSTRAINT_FUNCTION
#define HAS_CONFIG    1
#define HAS_FIND      2
#define SUPER_ROOT_ID 0

enum fixed_column {
    COLUMN_ID,
    COLUMN_PARENT_ID,
    COLUMN_DEPTH,
    COLUMN_NAME,
    COLUMN_SELF,
    COLUMN_CUMULATIVE,
    COLUMN_PARENT_CUMULATIVE,
    COLUMN_X_START,
    COLUMN_X_END,
    COLUMN_FIXED_N,
};

static const char *const fixed_names[COLUMN_FIXED_N] = {
    "_tree_id",         "_tree_parent_id",         "depth",   "name",  "self_value",
    "cumulative_value", "parent_cumulative_value", "x_start", "x_end",
};

struct table {
    sqlite3_vtab base;
    struct hs_flamegraph_source *source;
    size_t *properties; /* columns of the source that are also columns of this table */
    size_t property_count;
};

struct cursor {
    sqlite3_vtab_cursor base;
    struct hs_flamegraph_result result;
    uint32_t node;
    bool is_super_root; /* the only row is the super root */
};

static int config_column(const struct table *table)
{
    return COLUMN_FIXED_N + (int)table->property_count;
}

static bool is_fixed(const char *name)
{
    for (size_t i = 0; i < COLUMN_FIXED_N; i++) {
        if (strcasecmp(fixed_names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static int choose_properties(struct table *table)
{
    const struct hs_flamegraph_source *source = table->source;
    table->properties = calloc(source->column_count + 1, sizeof(size_t));
    if (!table->properties) {
        return SQLITE_NOMEM;
    }
    for (size_t i = 0; i < source->column_count; i++) {
        bool is_tree = i == source->id_column || i == source->parent_column;
        if (!is_tree && !is_fixed(source->columns[i].name)) {
            table->properties[table->property_count++] = i;
        }
    }
    return SQLITE_OK;
}

static int make_table(sqlite3 *db, const struct table *table, sqlite3_vtab **ret_table)
{
    sqlite3_str *text = sqlite3_str_new(db);
    sqlite3_str_appendall(text, "CREATE TABLE x(");
    for (size_t i = 0; i < COLUMN_FIXED_N; i++) {
        sqlite3_str_appendf(text, "%s%s", i > 0 ? ", " : "", fixed_names[i]);
    }
    for (size_t i = 0; i < table->property_count; i++) {
        sqlite3_str_appendf(text, ", \"%w\"", table->source->columns[table->properties[i]].name);
    }
    sqlite3_str_appendall(text, ", \"__config\" HIDDEN");
    for (size_t i = 0; i < table->property_count; i++) {
        const char *name = table->source->columns[table->properties[i]].name;
        const char *hidden = strcasecmp(name, "value") == 0 ? "__of_" : "";
        sqlite3_str_appendf(text, ", \"%sself_%w\" HIDDEN, \"%scumulative_%w\" HIDDEN", hidden,
                            name, hidden, name);
    }
    sqlite3_str_appendall(text, ")");
    char *schema = sqlite3_str_finish(text);
    int code = schema ? hs_sql_table_new(db, schema, sizeof(*table), ret_table) : SQLITE_NOMEM;
    sqlite3_free(schema);
    if (code == SQLITE_OK) {
        *(struct table *)*ret_table = *table;
    }
    return code;
}

static void free_content(struct table *table)
{
    hs_flamegraph_source_free(table->source);
    free(table->properties);
}

static int table_disconnect(sqlite3_vtab *base)
{
    free_content((struct table *)base);
    return hs_sql_table_free(base);
}

/* args[3] is the only argument, with its parentheses. */
static char *query_of(int arg_count, const char *const *args)
{
    size_t bytes = arg_count == 4 ? strlen(args[3]) : 0;
    if (bytes < 2 || args[3][0] != '(' || args[3][bytes - 1] != ')') {
        return NULL;
    }
    return sqlite3_mprintf("%.*s", (int)bytes - 2, args[3] + 1);
}

static int table_connect(sqlite3 *db, void *aux, int arg_count, const char *const *args,
                         sqlite3_vtab **ret_table, char **ret_error)
{
    (void)aux;
    char *query = query_of(arg_count, args);
    if (!query) {
        *ret_error =
            sqlite3_mprintf("a query in parentheses is expected: "
                            "__intrinsic_flamegraph((SELECT id, parent_id, name, value ...))");
        return SQLITE_ERROR;
    }
    struct table table = { 0 };
    int code = hs_flamegraph_source_load(db, query, &table.source, ret_error);
    sqlite3_free(query);
    code = code ? code : choose_properties(&table);
    code = code ? code : make_table(db, &table, ret_table);
    if (code != SQLITE_OK) {
        free_content(&table);
    }
    return code;
}

static int table_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const struct table *table = (struct table *)base;
    int config = -1, find = -1;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
        bool is_config = constraint->iColumn == config_column(table) &&
                         constraint->op == SQLITE_INDEX_CONSTRAINT_EQ;
        if (is_config && !constraint->usable) {
            return SQLITE_CONSTRAINT;
        }
        config = is_config ? i : config;
        find = constraint->iColumn == COLUMN_ID && constraint->op == FIND_OP && constraint->usable
                   ? i
                   : find;
    }
    int next = 1;
    if (config >= 0) {
        info->aConstraintUsage[config].argvIndex = next++;
        info->aConstraintUsage[config].omit = 1;
        info->idxNum |= HAS_CONFIG;
    }
    if (find >= 0) {
        info->aConstraintUsage[find].argvIndex = next;
        info->aConstraintUsage[find].omit = 1;
        info->idxNum |= HAS_FIND;
    }
    info->estimatedRows = find >= 0 ? 1 : table->source->node_count;
    info->estimatedCost = 10.0 * (table->source->node_count + 1.0);
    return SQLITE_OK;
}

/* Is this the super root's row? SQLite also calls it where it is not a condition. */
static void find_node(sqlite3_context *context, int arg_count, sqlite3_value **args)
{
    (void)arg_count;
    const char *what = (const char *)sqlite3_value_text(args[1]);
    if (!what || strcmp(what, "SUPER_ROOT") != 0) {
        sqlite3_result_error(context, "what can be found is 'SUPER_ROOT'", -1);
        return;
    }
    sqlite3_result_int(context, sqlite3_value_type(args[0]) == SQLITE_INTEGER &&
                                    sqlite3_value_int64(args[0]) == SUPER_ROOT_ID);
}

typedef void sql_function(sqlite3_context *, int, sqlite3_value **);

static int table_find_function(sqlite3_vtab *table, int arg_count, const char *name,
                               sql_function **ret_function, void **ret_arg)
{
    (void)table;
    if (arg_count != 2 || strcasecmp(name, "__intrinsic_flamegraph_find") != 0) {
        return 0;
    }
    *ret_function = find_node;
    *ret_arg = NULL;
    return FIND_OP;
}

static int table_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor)
{
    (void)table;
    return hs_sql_cursor_new(sizeof(struct cursor), ret_cursor);
}

static int table_close(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;
    hs_flamegraph_result_deinit(&cursor->result);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int table_filter(sqlite3_vtab_cursor *base, int plan, const char *plan_text, int arg_count,
                        sqlite3_value **args)
{
    (void)plan_text;
    struct cursor *cursor = (struct cursor *)base;
    struct table *table = (struct table *)base->pVtab;
    const void *config = NULL;
    size_t config_bytes = 0;
    if (plan & HAS_CONFIG) {
        config = sqlite3_value_blob(args[0]);
        config_bytes = (size_t)sqlite3_value_bytes(args[0]);
    }
    hs_flamegraph_result_deinit(&cursor->result);
    hs_sql_table_say(base->pVtab, NULL);
    cursor->node = 0;
    cursor->is_super_root = (plan & HAS_FIND) != 0;
    if (cursor->is_super_root) {
        const char *what = (const char *)sqlite3_value_text(args[arg_count - 1]);
        if (!what || strcmp(what, "SUPER_ROOT") != 0) {
            hs_sql_table_say(base->pVtab, sqlite3_mprintf("what can be found is 'SUPER_ROOT'"));
            return SQLITE_ERROR;
        }
    }
    return hs_flamegraph_query(table->source, config, config_bytes, &cursor->result,
                               &base->pVtab->zErrMsg);
}

static int table_next(sqlite3_vtab_cursor *base)
{
    ((struct cursor *)base)->node++;
    return SQLITE_OK;
}

static int table_eof(sqlite3_vtab_cursor *base)
{
    const struct cursor *cursor = (struct cursor *)base;
    return cursor->node >= (cursor->is_super_root ? 1 : cursor->result.graph->node_count);
}

static void fixed_result(const struct cursor *cursor, const struct table *table, int column,
                         sqlite3_context *context)
{
    const struct hs_flamegraph *graph = cursor->result.graph;
    const struct hs_flamegraph_node *node = &graph->nodes[cursor->node];
    size_t cell = cursor->node * graph->value_count;
    switch ((enum fixed_column)column) {
    case COLUMN_ID:
        sqlite3_result_int64(context, (int64_t)cursor->node + 1);
        break;
    case COLUMN_PARENT_ID:
        if (node->parent != HS_FLAMEGRAPH_NONE) {
            sqlite3_result_int64(context, (int64_t)node->parent + 1);
        }
        break;
    case COLUMN_DEPTH:
        sqlite3_result_int(context, node->depth);
        break;
    case COLUMN_NAME:
        hs_flamegraph_property(table->source, &cursor->result, cursor->node,
                               table->source->name_column, context);
        break;
    case COLUMN_SELF:
        sqlite3_result_int64(context, graph->self[cell]);
        break;
    case COLUMN_CUMULATIVE:
        sqlite3_result_int64(context, graph->cumulative[cell]);
        break;
    case COLUMN_PARENT_CUMULATIVE:
        if (node->parent != HS_FLAMEGRAPH_NONE) {
            sqlite3_result_int64(context, graph->cumulative[node->parent * graph->value_count]);
        }
        break;
    case COLUMN_X_START:
        sqlite3_result_int64(context, node->x_start);
        break;
    case COLUMN_X_END:
        sqlite3_result_int64(context, node->x_end);
        break;
    case COLUMN_FIXED_N:
        break;
    }
}

static void super_root_result(const struct cursor *cursor, int column, sqlite3_context *context)
{
    switch (column) {
    case COLUMN_ID:
        sqlite3_result_int(context, SUPER_ROOT_ID);
        break;
    case COLUMN_DEPTH:
        sqlite3_result_int(context, 0);
        break;
    case COLUMN_CUMULATIVE:
        sqlite3_result_double(context, cursor->result.graph->total[0]);
        break;
    default:
        break;
    }
}

/* self_X and cumulative_X exist for the values of the configuration; others are NULL. */
static void value_result(const struct cursor *cursor, size_t property, bool is_cumulative,
                         sqlite3_context *context)
{
    const struct hs_flamegraph *graph = cursor->result.graph;
    for (size_t v = 0; v < graph->value_count; v++) {
        if (cursor->result.value_columns[v] != property) {
            continue;
        }
        size_t cell = cursor->node * graph->value_count + v;
        if (cursor->is_super_root && is_cumulative) {
            sqlite3_result_double(context, graph->total[v]);
        } else if (!cursor->is_super_root) {
            sqlite3_result_int64(context,
                                 is_cumulative ? graph->cumulative[cell] : graph->self[cell]);
        }
        return;
    }
}

static int table_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const struct cursor *cursor = (struct cursor *)base;
    const struct table *table = (struct table *)base->pVtab;
    int config = config_column(table);
    if (column > config) {
        size_t property = (size_t)(column - config - 1) / 2;
        value_result(cursor, table->properties[property], (column - config - 1) % 2 == 1, context);
    } else if (cursor->is_super_root) {
        super_root_result(cursor, column, context);
    } else if (column < COLUMN_FIXED_N) {
        fixed_result(cursor, table, column, context);
    } else if (column < config) {
        hs_flamegraph_property(table->source, &cursor->result, cursor->node,
                               table->properties[column - COLUMN_FIXED_N], context);
    }
    return SQLITE_OK;
}

static int table_row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_row_id)
{
    const struct cursor *cursor = (struct cursor *)base;
    *ret_row_id = cursor->is_super_root ? SUPER_ROOT_ID : (sqlite3_int64)cursor->node + 1;
    return SQLITE_OK;
}

static const sqlite3_module flamegraph_module = {
    .xCreate = table_connect,
    .xConnect = table_connect,
    .xBestIndex = table_best_index,
    .xDisconnect = table_disconnect,
    .xDestroy = table_disconnect,
    .xOpen = table_open,
    .xClose = table_close,
    .xFilter = table_filter,
    .xNext = table_next,
    .xEof = table_eof,
    .xColumn = table_column,
    .xRowid = table_row_id,
    .xFindFunction = table_find_function,
};

int hs_sql_register_flamegraph(sqlite3 *db)
{
    int code = hs_flamegraph_config_register(db);
    code = code ? code
                : sqlite3_create_function(db, "__intrinsic_flamegraph_find", 2,
                                          SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                          NULL, find_node, NULL, NULL);
    return code ? code
                : sqlite3_create_module(db, "__intrinsic_flamegraph", &flamegraph_module, NULL);
}
