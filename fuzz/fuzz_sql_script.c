/*
 * Fuzz target: a text of SQL statements with a budget, over a small database: one that heapscope
 * made from a file, or one of another origin.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "sql/database.h"
#include "sql/language/result_rows.h"
#include "sql/language/sql_session.h"
#include "sql/store/table_names.h"
#include "util/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char tables[] =
    "CREATE TABLE stack_profile_mapping(id INTEGER PRIMARY KEY, build_id, name);"
    "CREATE TABLE stack_profile_frame(id INTEGER PRIMARY KEY, name, mapping, rel_pc, "
    "symbol_set_id, "
    "deobfuscated_name);"
    "CREATE TABLE stack_profile_callsite(id INTEGER PRIMARY KEY, depth, parent_id, frame_id);"
    "CREATE TABLE stack_profile_symbol(id INTEGER PRIMARY KEY, symbol_set_id, name, source_file, "
    "line_number, inlined);"
    "CREATE TABLE heap_profile_allocation(id INTEGER PRIMARY KEY, ts, upid, heap_name, "
    "callsite_id, "
    "count, size);"
    "CREATE TABLE heap_profile(id INTEGER PRIMARY KEY, ts, ts_end, dur, upid, heap_name);"
    "INSERT INTO stack_profile_mapping VALUES(0, 'ab', '/m');"
    "INSERT INTO stack_profile_frame VALUES(0, 'main', 0, 1, NULL, NULL), (1, '_Z1av', 0, 2, 0, "
    "NULL);"
    "INSERT INTO stack_profile_callsite VALUES(0, 0, NULL, 0), (1, 1, 0, 1);"
    "INSERT INTO stack_profile_symbol VALUES(0, 0, 'a', 'a.c', 1, 0);"
    "INSERT INTO heap_profile_allocation VALUES(0, 1, 1, 'h', 1, 1, 10);"
    "INSERT INTO heap_profile VALUES(0, 1, 1, 0, 1, 'h');";

static bool open_database(bool is_ours, sqlite3 **ret_db)
{
    static const char folded[] = "main;f;g 30\nmain;f;h 4\nmain;_Z1av 12\n";
    if (is_ours) {
        size_t bytes = sizeof(folded) - 1;
        return hs_sql_open_memory_for(HS_SQL_PACKETS, folded, bytes, NULL, ret_db, NULL) == 0;
    }
    return sqlite3_open(":memory:", ret_db) == SQLITE_OK &&
           sqlite3_exec(*ret_db, tables, NULL, NULL, NULL) == SQLITE_OK;
}

static int drop(void *ctx, const void *data, size_t bytes)
{
    (void)ctx;
    (void)data;
    (void)bytes;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sqlite3 *db = NULL;
    struct hs_sql *sql = NULL;
    struct hs_buf buf;
    struct hs_sql_writer writer;
    if (size == 0 || !open_database(size % 2 == 0, &db) || hs_sql_secure(db) < 0) {
        sqlite3_close(db);
        return 0;
    }
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 20);
    hs_buf_init(&buf, drop, NULL);
    hs_sql_writer_init(&writer, &buf, (enum hs_sql_format)(data[0] % HS_SQL_FORMAT_N));
    struct hs_sql_rows rows = hs_sql_writer_rows(&writer);
    if (hs_sql_new(db, &sql) == 0) {
        hs_sql_set_budget(sql, 200);
        int err = hs_sql_run(sql, (const char *)data, size, "input", &rows);
        if (err == HS_SQL_E_STATEMENT && hs_sql_error(sql)[0] == '\0') {
            abort(); /* a failure without a message */
        }
        hs_sql_free(sql);
    }
    hs_sql_writer_deinit(&writer);
    hs_buf_deinit(&buf);
    sqlite3_close(db);
    return 0;
}
