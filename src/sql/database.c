/*
 * See database.h.
 */
#include "sql/database.h"

#include <errno.h>

#include "sql/store/rows_module.h"
#include "sql/store/table_names.h"
#include "sql/table_source.h"

#define SORT_KIB (300 << 10)

/* The times at which the content of the trace begins and ends. */
#define BOUNDS_VIEW                                                                                \
    "CREATE VIEW trace_bounds AS SELECT coalesce(min(first), 0) AS start_ts, "                     \
    "coalesce(max(last), 0) AS end_ts FROM (SELECT min(ts) AS first, max(ts) AS last FROM "        \
    "counter UNION ALL SELECT min(ts), max(ts) FROM heap_profile_allocation UNION ALL SELECT "     \
    "min(ts), max(ts_end) FROM heap_profile UNION ALL SELECT min(ts), max(ts) FROM "               \
    "profiler_smaps UNION ALL SELECT min(ts), max(ts) FROM stack_sample)"

/* Samples of the CPU. */
#define PERF_VIEWS                                                                                 \
    "CREATE VIEW perf_sample AS SELECT s.id, s.ts, t.utid, e.cpu, CASE e.mode WHEN 1 THEN "        \
    "'kernel' WHEN 2 THEN 'user' WHEN 3 THEN 'hypervisor' WHEN 4 THEN 'guest_kernel' WHEN 5 THEN " \
    "'guest_user' ELSE 'unknown' END AS cpu_mode, s.callsite_id, s.unwind_error, s.session_id AS " \
    "perf_session_id FROM stack_sample s LEFT JOIN heapscope_stack_tasks t ON t.id = "             \
    "s.task_context_id LEFT JOIN heapscope_stack_executions e ON e.id = s.execution_context_id "   \
    "WHERE s.source = 'linux.perf';"                                                               \
    "CREATE VIEW perf_session AS SELECT DISTINCT session_id AS id, NULL AS cmdline FROM "          \
    "stack_sample WHERE source = 'linux.perf' ORDER BY 1"

static int sqlite_errno(int result)
{
    return result == SQLITE_OK      ? 0
           : result == SQLITE_NOMEM ? -ENOMEM
           : result == SQLITE_FULL  ? -ENOSPC
                                    : -EIO;
}

static int run(sqlite3 *db, char *text)
{
    int result = text ? sqlite3_exec(db, text, NULL, NULL, NULL) : SQLITE_NOMEM;
    sqlite3_free(text);
    return sqlite_errno(result);
}

/* The connection takes over the store, even after a failure. */
static int make_database(struct hs_sql_store *store, sqlite3 **ret_db)
{
    sqlite3 *db = NULL;
    int err = sqlite_errno(sqlite3_open_v2(
        ":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL));
    if (err < 0) {
        hs_sql_store_free(store);
        sqlite3_close(db);
        return err;
    }
    err = sqlite_errno(hs_rows_module_register(db, store));
    /* The memory that a sort can use before it writes to a file and reads it back in pieces. */
    err = err ? err : run(db, sqlite3_mprintf("PRAGMA cache_size = -%d", SORT_KIB));
    err = err ? err : run(db, sqlite3_mprintf("BEGIN"));
    for (int i = 0; i < HS_SQL_TABLES_N && err == 0; i++) {
        const char *name = store->tables[i].name;
        err = run(db,
                  sqlite3_mprintf("CREATE VIRTUAL TABLE %s USING heapscope_rows(%s)", name, name));
    }
    const struct hs_sql_view *view;
    for (size_t i = 0; err == 0 && (view = hs_sql_view(i)) != NULL; i++) {
        err = run(db, sqlite3_mprintf("CREATE VIEW %s AS SELECT * FROM %s", view->name,
                                      store->tables[view->table].name));
    }
    err = err ? err : run(db, sqlite3_mprintf(BOUNDS_VIEW));
    err = err ? err : run(db, sqlite3_mprintf(PERF_VIEWS));
    err = err ? err : run(db, sqlite3_mprintf("COMMIT"));
    if (err < 0) {
        sqlite3_close(db);
    } else {
        *ret_db = db;
    }
    return err;
}

/* Takes over the source. */
static int open_source(struct hs_table_source *source, unsigned expected,
                       const struct hs_sql_heaps *heaps, sqlite3 **ret_db,
                       struct hs_load_report *ret_report)
{
    struct hs_sql_store *store;
    int err = hs_table_source_fill(source, expected, heaps, &store, ret_report);
    return err ? err : make_database(store, ret_db);
}

int hs_sql_open_for(unsigned expected, const char *path, const struct hs_sql_heaps *heaps,
                    sqlite3 **ret_db, struct hs_load_report *ret_report)
{
    struct hs_table_source *source;
    int err = hs_table_source_open(path, &source);
    return err ? err : open_source(source, expected, heaps, ret_db, ret_report);
}

int hs_sql_open_memory_for(unsigned expected, const void *data, size_t bytes,
                           const struct hs_sql_heaps *heaps, sqlite3 **ret_db,
                           struct hs_load_report *ret_report)
{
    struct hs_table_source *source;
    int err = hs_table_source_new(data, bytes, &source);
    return err ? err : open_source(source, expected, heaps, ret_db, ret_report);
}
