/*
 * Writes the database as a file with real tables. See database.h.
 *
 * The database is written into a new file that no other process knows yet. Nothing has to be rolled
 * back or to survive a crash half way, so there is no journal and no waiting for the disk. Indexes
 * are built when all rows are written.
 */
#include "sql/database.h"

#include <errno.h>

#define CACHE_KIB  (64 << 10)
#define PAGE_BYTES 16384

static int errno_of(sqlite3 *db, int result)
{
    int said = 0;
    switch (result & 0xFF) {
    case SQLITE_OK:
        return 0;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_FULL:
        return -ENOSPC;
    default:
        sqlite3_file_control(db, "whole", SQLITE_FCNTL_LAST_ERRNO, &said);
        return said > 0 ? -said : -EIO;
    }
}

static int run(sqlite3 *db, char *text)
{
    int result = text ? sqlite3_exec(db, text, NULL, NULL, NULL) : SQLITE_NOMEM;
    sqlite3_free(text);
    return errno_of(db, result);
}

/* Runs one statement for each row of a query, whose rows are the statements. */
static int run_each(sqlite3 *db, const char *query)
{
    sqlite3_stmt *rows = NULL;
    int result = sqlite3_prepare_v2(db, query, -1, &rows, NULL);
    int err = errno_of(db, result);
    while (err == 0 && (result = sqlite3_step(rows)) == SQLITE_ROW) {
        err = run(db, sqlite3_mprintf("%s", sqlite3_column_text(rows, 0)));
    }
    if (err == 0 && result != SQLITE_DONE) {
        err = errno_of(db, result);
    }
    sqlite3_finalize(rows);
    return err;
}

/* Copies the tables. Tables get the short names, and the long names become views. Ids are primary
 * keys. */
static int copy_tables(sqlite3 *db)
{
    static const char create[] = "SELECT printf('CREATE TABLE whole.%s(%s)', replace(name, "
                                 "'__intrinsic_', ''), (SELECT group_concat(printf("
                                 "'\"%w\" %s%s', c.name, c.type, iif(c.name = 'id' AND m.name <> "
                                 "'__intrinsic_process_counter_track', "
                                 "' PRIMARY KEY', ''))) FROM pragma_table_info(m.name) c)) FROM "
                                 "main.sqlite_schema m WHERE type = 'table'";
    static const char insert[] = "SELECT printf('INSERT INTO whole.%s SELECT * FROM main.%s', "
                                 "replace(name, '__intrinsic_', ''), name) "
                                 "FROM main.sqlite_schema WHERE type = 'table'";
    static const char name[] = "SELECT printf('CREATE VIEW whole.%s AS SELECT * FROM %s', name, "
                               "replace(name, '__intrinsic_', '')) "
                               "FROM main.sqlite_schema WHERE type = 'table' AND name LIKE "
                               "'\\_\\_intrinsic\\_%' ESCAPE '\\'";
    static const char made[] =
        "SELECT printf('CREATE VIEW whole.%s%s', name, substr(sql, instr(sql, ' AS '))) FROM "
        "main.sqlite_schema WHERE name IN ('trace_bounds', 'perf_sample', 'perf_session')";
    int err = run_each(db, create);
    err = err ? err : run_each(db, insert);
    err = err ? err : run_each(db, name);
    err = err ? err : run_each(db, made);
    return err ? err
               : run(db, sqlite3_mprintf("CREATE VIEW whole.process_memory_mappings AS SELECT * "
                                         "FROM profiler_smaps;"
                                         "CREATE VIEW whole.stack_sample AS SELECT * "
                                         "FROM profiler_sample;"
                                         "CREATE INDEX whole.heap_profile_allocation_by_callsite "
                                         "ON heap_profile_allocation("
                                         "callsite_id);"
                                         "CREATE INDEX whole.stack_profile_callsite_by_parent ON "
                                         "stack_profile_callsite("
                                         "parent_id);"
                                         "CREATE INDEX whole.stack_profile_symbol_by_set ON "
                                         "stack_profile_symbol(symbol_set_id)"));
}

static int write_to(sqlite3 *db, const char *path)
{
    int err = run(db, sqlite3_mprintf("ATTACH %Q AS whole", path));
    if (err < 0) {
        return err;
    }
    err = run(db, sqlite3_mprintf("PRAGMA whole.page_size = %d; PRAGMA whole.journal_mode = OFF; "
                                  "PRAGMA whole.synchronous = OFF; PRAGMA whole.cache_size = -%d; "
                                  "PRAGMA whole.locking_mode = EXCLUSIVE",
                                  PAGE_BYTES, CACHE_KIB));
    err = err ? err : run(db, sqlite3_mprintf("BEGIN"));
    err = err ? err : copy_tables(db);
    err = err ? err : run(db, sqlite3_mprintf("COMMIT"));
    if (err < 0) {
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    }
    return err;
}

int hs_sql_write_file(sqlite3 *db, const char *path)
{
    int err = write_to(db, path);
    int late_err = errno_of(db, sqlite3_exec(db, "DETACH whole", NULL, NULL, NULL));
    return err ? err : late_err;
}

int hs_sql_write(sqlite3 *db, struct hs_buf *buf)
{
    int err = write_to(db, ":memory:");
    if (err == 0) {
        sqlite3_int64 bytes = 0;
        unsigned char *data = sqlite3_serialize(db, "whole", &bytes, 0);
        if (data) {
            hs_buf_add(buf, data, (size_t)bytes);
            err = buf->err;
        } else {
            err = -ENOMEM;
        }
        sqlite3_free(data);
    }
    sqlite3_exec(db, "DETACH whole", NULL, NULL, NULL);
    return err;
}
