/*
 * See stack_used.h.
 */
#include "sql/stacks/stack_used.h"

#include <stdlib.h>

#include "sql/store/materialized_table.h"
#include "util/array.h"

static const char allocation_query[] =
    "SELECT upid, callsite_id FROM heap_profile_allocation ORDER BY upid";
/* Databases of earlier versions, or written by other programs, have no samples. */
static const char all_query[] =
    "SELECT upid, callsite_id FROM heap_profile_allocation UNION ALL SELECT t.upid, s.callsite_id "
    "FROM stack_sample s JOIN heapscope_stack_tasks t ON t.id = s.task_context_id ORDER BY 1";

enum column { COLUMN_UPID, COLUMN_FRAME_ID };

struct pair {
    uint32_t process, frame; /* numbers of the process and of the frame */
};

struct used {
    struct hs_stack_forest *forest;
    int64_t *upids; /* by process */
    size_t upid_capacity;
    uint32_t process_count;
    struct pair *pairs;
    size_t pair_capacity;
    uint32_t count;
    /* The process that marked the site or frame last, counted from 1. */
    uint32_t *site_marks, *frame_marks;
};

static void used_free(void *rows)
{
    struct used *used = rows;
    free(used->upids);
    free(used->pairs);
    free(used->site_marks);
    free(used->frame_marks);
    free(used);
}

static int add_frame(struct used *used, uint32_t frame)
{
    if (frame == HS_STACK_NONE || used->frame_marks[frame] == used->process_count) {
        return SQLITE_OK;
    }
    used->frame_marks[frame] = used->process_count;
    if (used->count >= INT32_MAX ||
        hs_array_reserve(&used->pairs, &used->pair_capacity, (size_t)used->count + 1,
                         sizeof(used->pairs[0])) < 0) {
        return SQLITE_NOMEM;
    }
    used->pairs[used->count++] = (struct pair){ used->process_count - 1, frame };
    return SQLITE_OK;
}

/* Marks a call site and its callers, up to the first that is already marked. */
static int add_stack(struct used *used, int64_t site_id)
{
    const struct hs_stack_sites *sites = &used->forest->sites;
    uint32_t site;
    int code = SQLITE_OK;
    if (!hs_id_map_find(&sites->ids, site_id, &site)) {
        return SQLITE_OK;
    }
    while (code == SQLITE_OK && site != HS_STACK_NONE &&
           used->site_marks[site] != used->process_count) {
        used->site_marks[site] = used->process_count;
        code = add_frame(used, used->forest->site_frames[site]);
        site = sites->parents[site];
    }
    return code;
}

static int add_row(struct used *used, sqlite3_stmt *stmt)
{
    int64_t upid = sqlite3_column_int64(stmt, 0);
    if (used->process_count == 0 || used->upids[used->process_count - 1] != upid) {
        if (hs_array_reserve(&used->upids, &used->upid_capacity, (size_t)used->process_count + 1,
                             sizeof(int64_t)) < 0) {
            return SQLITE_NOMEM;
        }
        used->upids[used->process_count++] = upid;
    }
    return sqlite3_column_type(stmt, 1) == SQLITE_NULL
               ? SQLITE_OK
               : add_stack(used, sqlite3_column_int64(stmt, 1));
}

static int read_rows(sqlite3 *db, struct used *used, char **ret_error)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db, all_query, -1, &stmt, NULL);
    code = code == SQLITE_ERROR ? sqlite3_prepare_v2(db, allocation_query, -1, &stmt, NULL) : code;
    while (code == SQLITE_OK) {
        code = sqlite3_step(stmt);
        code = code == SQLITE_ROW ? add_row(used, stmt) : code;
    }
    sqlite3_finalize(stmt);
    if (code != SQLITE_DONE && code != SQLITE_NOMEM) {
        *ret_error = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    }
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int used_make(sqlite3 *db, void *ctx, sqlite3_value *argument, void **ret_rows,
                     char **ret_error)
{
    (void)argument;
    struct hs_stack_forest *forest = ctx;
    int code = hs_stack_forest_need(db, forest, ret_error);
    struct used *used = code == SQLITE_OK ? calloc(1, sizeof(*used)) : NULL;
    if (!used) {
        return code ? code : SQLITE_NOMEM;
    }
    used->forest = forest;
    used->site_marks = calloc((size_t)forest->sites.ids.count + 1, sizeof(uint32_t));
    used->frame_marks = calloc((size_t)forest->frames.ids.count + 1, sizeof(uint32_t));
    code = used->site_marks && used->frame_marks ? read_rows(db, used, ret_error) : SQLITE_NOMEM;
    if (code != SQLITE_OK) {
        used_free(used);
        return code;
    }
    *ret_rows = used;
    return SQLITE_OK;
}

static uint32_t used_count(const void *rows)
{
    return ((const struct used *)rows)->count;
}

static void used_column(const void *rows, uint32_t row, int column, sqlite3_context *context)
{
    const struct used *used = rows;
    const struct pair *pair = &used->pairs[row];
    sqlite3_result_int64(context, column == COLUMN_UPID
                                      ? used->upids[pair->process]
                                      : hs_id_map_id(&used->forest->frames.ids, pair->frame));
}

int hs_stack_used_register(sqlite3 *db, struct hs_stack_forest *forest)
{
    static const struct hs_materialized_table table = {
        .name = "__heapscope_used_frames",
        .schema = "CREATE TABLE x(upid INTEGER, frame_id INTEGER)",
        .needs = allocation_query,
        .make = used_make,
        .free = used_free,
        .count = used_count,
        .column = used_column,
    };
    return hs_materialized_table_register(db, &table, forest);
}
