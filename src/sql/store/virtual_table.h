/*
 * What our virtual tables of SQLite share: memory for tables and cursors, and error messages.
 *
 * Threads   one user.
 */
#pragma once

#include <sqlite3.h>
#include <string.h>

/* For xConnect: declares the schema and allocates a zeroed table. Its type must begin with a
 * sqlite3_vtab. Safe in triggers and views of an untrusted file, as it only reads. */
static inline int hs_sql_table_new(sqlite3 *db, const char *schema, size_t bytes,
                                   sqlite3_vtab **ret_table)
{
    int code = sqlite3_declare_vtab(db, schema);
    if (code != SQLITE_OK) {
        return code;
    }
    sqlite3_vtab *table = sqlite3_malloc64(bytes);
    if (!table) {
        return SQLITE_NOMEM;
    }
    memset(table, 0, bytes);
    sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    *ret_table = table;
    return SQLITE_OK;
}

/* xDisconnect of a table that owns nothing besides itself. */
static inline int hs_sql_table_free(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

/* Sets the error message, a text of sqlite3_mprintf() that the table takes over, or NULL: none. */
static inline void hs_sql_table_say(sqlite3_vtab *table, char *text)
{
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = text;
}

/* Allocates a zeroed cursor for xOpen. Its type must begin with a sqlite3_vtab_cursor. The caller
 * frees it with sqlite3_free(). */
static inline int hs_sql_cursor_new(size_t bytes, sqlite3_vtab_cursor **ret_cursor)
{
    sqlite3_vtab_cursor *cursor = sqlite3_malloc64(bytes);
    if (!cursor) {
        return SQLITE_NOMEM;
    }
    memset(cursor, 0, bytes);
    *ret_cursor = cursor;
    return SQLITE_OK;
}
