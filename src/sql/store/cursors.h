/*
 * Memory for the cursors of our virtual tables.
 *
 * Threads   one user.
 */
#pragma once

#include <sqlite3.h>
#include <string.h>

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
