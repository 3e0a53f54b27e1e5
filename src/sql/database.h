/*
 * A recorded file as an SQLite database, in memory: for queries, and to be written out.
 *
 * Tables and views are there at once; rows lie as the import left them, and SQLite reads them through rows_module.h.
 * Tables named heapscope_* are filled when they are first read.
 *
 * Threads   one user; the connection is the caller's, to be closed with sqlite3_close().
 * Fails     -errno; HS_TRACE_E_FOREIGN of trace_reader.h. An empty file is a trace without packets.
 * See       docs/SQL.md
 */
#pragma once

#include <sqlite3.h>
#include <stddef.h>

#include "profile/load.h"
#include "util/buf.h"

/* "-" is standard input. The report may be NULL. */
int hs_sql_open(const char *path, sqlite3 **ret_db, struct hs_load_report *ret_report);
/* From memory, which must stay as long as the connection. */
int hs_sql_open_memory(const void *data, size_t bytes, sqlite3 **ret_db,
                       struct hs_load_report *ret_report);

/* The same as an SQLite file: its tables are real ones there. The file is empty, and no use after a failure. 0 or -errno. */
int hs_sql_write_file(sqlite3 *db, const char *path);
/* Into memory first: for what is no file. */
int hs_sql_write(sqlite3 *db, struct hs_buf *buf);
