/*
 * Opens a profile as tables, for SQL: prints one line about any error, and one about what is
 * missing of a damaged file.
 *
 * Threads   main thread only.
 * See       sql/database.h
 */
#pragma once

#include <sqlite3.h>

/* Opens `path`, "-": standard input, for reading these tables: HS_SQL_PACKETS, HS_SQL_PROFILE of
 * sql/store/table_names.h. 0, or the exit status, after a message. The caller closes the
 * connection. */
int hs_tables_file_open(unsigned expected, const char *path, sqlite3 **ret_db);
