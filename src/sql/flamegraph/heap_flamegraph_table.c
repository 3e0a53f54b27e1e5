/*
 * The tables experimental_flamegraph(profile_type, ts, ts_constraint, upid, upid_group, focus_str)
 * and, with the older order of arguments, experimental_flamegraph(ts, upid, profile_type). The
 * arguments may also be named in WHERE.
 */
#include <stdlib.h>
#include <string.h>

#include "rt/base.h"
#include "sql/flamegraph/heap_flamegraph.h"
#include "sql/language/session_state.h"
#include "sql/store/virtual_table.h"

enum column {
    COLUMN_ID,
    COLUMN_TS,
    COLUMN_DEPTH,
    COLUMN_NAME,
    COLUMN_MAP_NAME,
    COLUMN_VALUES, /* self and cumulative of each enum hs_heap_value */
    COLUMN_PARENT_ID = COLUMN_VALUES + 2 * HS_HEAP_VALUE_N,
    COLUMN_SOURCE_FILE,
    COLUMN_LINE_NUMBER,
    COLUMN_ARGUMENTS,
};

enum argument {
    ARGUMENT_TYPE,
    ARGUMENT_TS,
    ARGUMENT_TS_CONSTRAINT,
    ARGUMENT_UPID,
    ARGUMENT_UPID_GROUP,
    ARGUMENT_FOCUS,
    ARGUMENT_N,
};

static const char schema[] =
    "CREATE TABLE x(id, ts, depth, name, map_name, count, cumulative_count, size, cumulative_size, "
    "alloc_count, cumulative_alloc_count, alloc_size, cumulative_alloc_size, parent_id, "
    "source_file, "
    "line_number, profile_type HIDDEN, ts_in HIDDEN, ts_constraint HIDDEN, upid HIDDEN, upid_group "
    "HIDDEN, focus_str HIDDEN)";

struct cursor {
    sqlite3_vtab_cursor base;
    struct hs_heap_flamegraph *graph;
    int64_t ts;
    uint32_t node;
};

struct table {
    sqlite3_vtab base;
    sqlite3 *db;
    struct hs_stack_forest *forest; /* the session's forest, which has the texts */
};

static int table_connect(sqlite3 *db, void *aux, int arg_count, const char *const *args,
                         sqlite3_vtab **ret_table, char **ret_error)
{
    (void)arg_count;
    (void)args;
    (void)ret_error;
    int code = hs_sql_table_new(db, schema, sizeof(struct table), ret_table);
    if (code == SQLITE_OK) {
        struct table *table = (struct table *)*ret_table;
        table->db = db;
        table->forest = aux;
    }
    return code;
}

/* The argument that a constraint sets; ARGUMENT_N: none. ts = N in WHERE also sets the instant. */
static int argument_of(const struct sqlite3_index_constraint *constraint)
{
    if (constraint->op != SQLITE_INDEX_CONSTRAINT_EQ) {
        return ARGUMENT_N;
    }
    if (constraint->iColumn == COLUMN_TS) {
        return ARGUMENT_TS;
    }
    return constraint->iColumn >= COLUMN_ARGUMENTS ? constraint->iColumn - COLUMN_ARGUMENTS
                                                   : ARGUMENT_N;
}

static int table_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    int found[ARGUMENT_N] = { -1, -1, -1, -1, -1, -1 };
    for (int i = 0; i < info->nConstraint; i++) {
        int argument = argument_of(&info->aConstraint[i]);
        if (argument == ARGUMENT_N) {
            continue;
        }
        bool is_hidden = info->aConstraint[i].iColumn >= COLUMN_ARGUMENTS;
        if (!info->aConstraint[i].usable && is_hidden) {
            return SQLITE_CONSTRAINT;
        }
        if (info->aConstraint[i].usable && (found[argument] < 0 || is_hidden)) {
            found[argument] = i;
        }
    }
    int next = 1;
    for (int i = 0; i < ARGUMENT_N; i++) {
        if (found[i] >= 0) {
            info->aConstraintUsage[found[i]].argvIndex = next++;
            info->aConstraintUsage[found[i]].omit =
                info->aConstraint[found[i]].iColumn >= COLUMN_ARGUMENTS;
            info->idxNum |= 1 << i;
        }
    }
    info->estimatedCost = 100000;
    return SQLITE_OK;
}

static int table_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor)
{
    (void)table;
    return hs_sql_cursor_new(sizeof(struct cursor), ret_cursor);
}

static int table_close(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;
    hs_heap_flamegraph_free(cursor->graph);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int fail(sqlite3_vtab_cursor *base, const char *text)
{
    hs_sql_table_say(base->pVtab, sqlite3_mprintf("Failed to build flamegraph: %s", text));
    return SQLITE_ERROR;
}

static bool is_number(sqlite3_value *value)
{
    return value && sqlite3_value_numeric_type(value) == SQLITE_INTEGER;
}

/* Puts the arguments into today's order. */
static void order_arguments(sqlite3_value *(*all)[ARGUMENT_N])
{
    sqlite3_value **a = *all;
    bool is_older = is_number(a[0]) && is_number(a[1]) && a[2] &&
                    sqlite3_value_type(a[2]) == SQLITE_TEXT && !a[ARGUMENT_UPID];
    if (is_older) {
        sqlite3_value *ts = a[0], *upid = a[1], *type = a[2];
        a[ARGUMENT_TYPE] = type;
        a[ARGUMENT_TS] = ts;
        a[ARGUMENT_TS_CONSTRAINT] = NULL;
        a[ARGUMENT_UPID] = upid;
    }
}

static int table_filter(sqlite3_vtab_cursor *base, int plan, const char *plan_text, int arg_count,
                        sqlite3_value **args)
{
    (void)plan_text;
    (void)arg_count;
    struct cursor *cursor = (struct cursor *)base;
    sqlite3_value *all[ARGUMENT_N] = { NULL };
    for (int i = 0, next = 0; i < ARGUMENT_N; i++) {
        all[i] = plan & (1 << i) ? args[next++] : NULL;
    }
    order_arguments(&all);
    cursor->graph = hs_heap_flamegraph_free(cursor->graph);
    cursor->node = 0;
    const char *type =
        all[ARGUMENT_TYPE] ? (const char *)sqlite3_value_text(all[ARGUMENT_TYPE]) : "native";
    if (!type || strcmp(type, "native") != 0) {
        return fail(base, "the only profile_type here is 'native'");
    }
    if (!is_number(all[ARGUMENT_TS]) || !is_number(all[ARGUMENT_UPID])) {
        return fail(base, "ts and upid are needed: experimental_flamegraph('native', ts, NULL, "
                          "upid, NULL, NULL)");
    }
    const char *focus =
        all[ARGUMENT_FOCUS] ? (const char *)sqlite3_value_text(all[ARGUMENT_FOCUS]) : NULL;
    cursor->ts = sqlite3_value_int64(all[ARGUMENT_TS]);
    hs_sql_table_say(base->pVtab, NULL);
    const struct table *table = (const struct table *)base->pVtab;
    return hs_heap_flamegraph_make(table->db, table->forest, cursor->ts,
                                   sqlite3_value_int64(all[ARGUMENT_UPID]), focus, &cursor->graph,
                                   &base->pVtab->zErrMsg);
}

static int table_eof(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;
    while (cursor->node < cursor->graph->node_count &&
           !cursor->graph->nodes[cursor->node].is_shown) {
        cursor->node++;
    }
    return cursor->node >= cursor->graph->node_count;
}

static int table_next(sqlite3_vtab_cursor *base)
{
    ((struct cursor *)base)->node++;
    return SQLITE_OK;
}

static void result_text(sqlite3_context *context, const struct hs_stack_frames *frames,
                        uint32_t text, const char *otherwise)
{
    const char *found = hs_stack_frames_text(frames, text);
    if (found || otherwise) {
        sqlite3_result_text(context, found ? found : otherwise, -1, SQLITE_STATIC);
    }
}

static int table_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const struct cursor *cursor = (struct cursor *)base;
    const struct hs_heap_node *node = &cursor->graph->nodes[cursor->node];
    const struct hs_stack_frames *frames = &((const struct table *)base->pVtab)->forest->frames;
    if (column >= COLUMN_VALUES && column < COLUMN_PARENT_ID) {
        int value = (column - COLUMN_VALUES) / 2;
        sqlite3_result_int64(context, (column - COLUMN_VALUES) % 2 == 0 ? node->self[value]
                                                                        : node->cumulative[value]);
    } else if (column == COLUMN_ID) {
        sqlite3_result_int64(context, cursor->node);
    } else if (column == COLUMN_TS) {
        sqlite3_result_int64(context, cursor->ts);
    } else if (column == COLUMN_DEPTH) {
        sqlite3_result_int64(context, node->depth);
    } else if (column == COLUMN_NAME) {
        result_text(context, frames, node->name, "");
    } else if (column == COLUMN_MAP_NAME) {
        result_text(context, frames, node->map_name, "");
    } else if (column == COLUMN_PARENT_ID && node->parent != UINT32_MAX) {
        sqlite3_result_int64(context, node->parent);
    } else if (column == COLUMN_SOURCE_FILE && !node->has_several_sources) {
        result_text(context, frames, node->source_file, NULL);
    } else if (column == COLUMN_LINE_NUMBER && !node->has_several_sources &&
               node->source_file != HS_STACK_NO_TEXT) {
        sqlite3_result_int64(context, node->line_number);
    }
    return SQLITE_OK;
}

static int table_row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_row_id)
{
    *ret_row_id = ((struct cursor *)base)->node;
    return SQLITE_OK;
}

static const sqlite3_module heap_flamegraph_module = {
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

int hs_sql_register_profile_flamegraph(sqlite3 *db, struct hs_stack_forest *forest)
{
    return sqlite3_create_module(db, "experimental_flamegraph", &heap_flamegraph_module, forest);
}
