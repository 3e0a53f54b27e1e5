/*
 * Opens a profile as tables, for SQL: prints one line about any error, and one about what is
 * missing of a damaged file.
 *
 * Threads   main thread only.
 * See       sql/database.h
 */
#pragma once

#include <sqlite3.h>

struct hs_heap_patterns;

/* Opens `path`, "-": standard input, for reading these tables: HS_SQL_PACKETS, HS_SQL_PROFILE of
 * sql/store/table_names.h. They contain the heaps that `heaps` names, which lives as long as the
 * connection, or all if it names none. 0, or the exit status, after a message. The caller closes
 * the connection. */
int hs_tables_file_open(unsigned expected, const char *path, const struct hs_heap_patterns *heaps,
                        sqlite3 **ret_db);
