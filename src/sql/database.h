/*
 * Opens a recorded file as an SQLite database in memory, for queries and for export as an SQLite
 * file.
 *
 * The tables and views exist from the beginning. Their rows stay where the import put them, and
 * SQLite reads them through rows_module.h.
 *
 * The rows come from two sources, the packets of the file and its profile (heapscope_*). A caller
 * that knows which tables it will read says so when it opens the file: one pass over the file then
 * fills tables of both sources. Other tables are filled when they are first read, in a pass of
 * their own.
 *
 * Threads   one user. The connection belongs to the caller, who closes it with sqlite3_close().
 * Fails     -errno; HS_TRACE_E_FOREIGN of trace_reader.h; HS_SQL_E_NO_HEAP. An empty file is a
 *           trace without packets.
 * See       docs/SQL.md
 */
#pragma once

#include <sqlite3.h>
#include <stddef.h>

#include "profile/read/load.h"
#include "sql/table_source.h"
#include "util/buf.h"

/* Opens a file and fills these tables: HS_SQL_PACKETS, HS_SQL_PROFILE of store/table_names.h. "-"
 * is standard input. The tables contain the heaps that `heaps` names (NULL: all). ret_report may be
 * NULL. */
int hs_sql_open_for(unsigned expected, const char *path, const struct hs_sql_heaps *heaps,
                    sqlite3 **ret_db, struct hs_load_report *ret_report);
/* The same for a file in memory, which must stay valid as long as the connection. */
int hs_sql_open_memory_for(unsigned expected, const void *data, size_t bytes,
                           const struct hs_sql_heaps *heaps, sqlite3 **ret_db,
                           struct hs_load_report *ret_report);

/* Writes the database as an SQLite file, in which the tables are real tables. `path` must be an
 * empty file, whose content is useless after a failure. Returns 0 or -errno. */
int hs_sql_write_file(sqlite3 *db, const char *path);
/* Writes the same file into memory first, for outputs that are not a regular file. Returns 0 or
 * -errno. */
int hs_sql_write(sqlite3 *db, struct hs_buf *buf);
