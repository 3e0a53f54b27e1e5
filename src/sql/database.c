/*
 * See database.h.
 */
#include "sql/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sql/import/from_profile.h"
#include "sql/import/import.h"
#include "sql/store/own_tables.h"
#include "sql/store/rows_module.h"
#include "trace/trace_input.h"

/* Additional names of the tables. A table whose name begins with __intrinsic_ also has a view
 * without that prefix. */
static const struct {
    const char *view;
    enum hs_sql_table table;
} views[] = {
    { "stack_profile_mapping", HS_SQL_MAPPING },
    { "stack_profile_frame", HS_SQL_FRAME },
    { "stack_profile_callsite", HS_SQL_CALLSITE },
    { "stack_profile_symbol", HS_SQL_SYMBOL },
    { "heap_profile_allocation", HS_SQL_ALLOCATION },
    { "heap_profile", HS_SQL_HEAP_PROFILE },
    { "profiler_smaps", HS_SQL_SMAPS },
    { "process_memory_mappings", HS_SQL_SMAPS },
    { "stack_sample", HS_SQL_STACK_SAMPLE },
    { "process", HS_SQL_PROCESS },
    { "thread", HS_SQL_THREAD },
    { "counter", HS_SQL_COUNTER },
    { "counter_track", HS_SQL_TRACK },
    { "process_counter_track", HS_SQL_PROCESS_TRACK },
    { "clock_snapshot", HS_SQL_CLOCK },
    { "stats", HS_SQL_STATS },
    { "metadata", HS_SQL_METADATA },
    { "args", HS_SQL_ARGS },
};

#define SORT_KIB   (300 << 10)
#define VIEW_COUNT (sizeof(views) / sizeof(views[0]))

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

/* The bytes of the file, for the tables that are filled later. */
struct source {
    struct hs_trace_input input;
    const void *data;
    size_t bytes;
    struct hs_own_tables *own; /* NULL: not filled yet */
};

static void free_source(void *ctx)
{
    struct source *source = ctx;
    hs_own_tables_free(source->own);
    hs_trace_input_deinit(&source->input);
    free(source);
}

static int fill_own(struct hs_sql_store *store, void *ctx)
{
    struct source *source = ctx;
    struct hs_profile *profile = NULL;
    int err = hs_profile_load_memory(source->data, source->bytes, &profile, NULL);
    if (err == 0) {
        source->own = hs_own_tables_new(store, profile);
        err = source->own ? 0 : -ENOMEM;
    }
    return err < 0 ? err : 0;
}

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
    for (size_t i = 0; i < VIEW_COUNT && err == 0; i++) {
        err = run(db, sqlite3_mprintf("CREATE VIEW %s AS SELECT * FROM %s", views[i].view,
                                      store->tables[views[i].table].name));
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

/* Reads a trace by its packets, and any other file by the profile that can be made of it. */
static int fill(struct hs_sql_store *store, const struct source *source,
                struct hs_load_report *ret_report)
{
    int import_err = hs_sql_import(store, source->data, source->bytes, ret_report);
    if (import_err != HS_TRACE_E_FOREIGN && import_err != HS_SQL_E_BLANK) {
        return import_err;
    }
    struct hs_load_report report = { 0 };
    struct hs_profile *profile = NULL;
    int err = hs_profile_load_memory(source->data, source->bytes, &profile, &report);
    if (err > 0 && import_err == HS_SQL_E_BLANK) {
        return 0; /* the file is an intact trace without packets */
    }
    if (ret_report) {
        *ret_report = report;
    }
    if (err == 0) {
        hs_sql_from_profile(store, profile);
        err = store->err;
    }
    hs_profile_free(profile);
    return err;
}

static int open_source(struct source *source, sqlite3 **ret_db, struct hs_load_report *ret_report)
{
    struct hs_sql_store *store = hs_sql_store_new();
    if (!store) {
        free_source(source);
        return -ENOMEM;
    }
    store->own_ctx = source;
    store->free_own = free_source;
    store->fill_own = fill_own;
    int err = fill(store, source, ret_report);
    if (err != 0) {
        hs_sql_store_free(store);
        return err;
    }
    return make_database(store, ret_db);
}

int hs_sql_open(const char *path, sqlite3 **ret_db, struct hs_load_report *ret_report)
{
    struct source *source = calloc(1, sizeof(*source));
    if (!source) {
        return -ENOMEM;
    }
    int err = hs_trace_input_open(&source->input, path);
    if (err < 0) {
        free(source);
        return err;
    }
    source->data = source->input.file;
    source->bytes = source->input.file_bytes;
    return open_source(source, ret_db, ret_report);
}

int hs_sql_open_memory(const void *data, size_t bytes, sqlite3 **ret_db,
                       struct hs_load_report *ret_report)
{
    struct source *source = calloc(1, sizeof(*source));
    if (!source) {
        return -ENOMEM;
    }
    source->data = data;
    source->bytes = bytes;
    return open_source(source, ret_db, ret_report);
}
