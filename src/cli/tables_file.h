/*
 * Opening a profile as tables, for SQL: says in one line what is wrong when that cannot be, and what is missing of a
 * damaged file.
 *
 * Threads   main thread only.
 * See       sql/database.h
 */
#pragma once

#include <sqlite3.h>

/* "-" is standard input. 0, or the exit status to return after having said why. The caller closes the connection. */
int hs_tables_file_open(const char *path, sqlite3 **ret_db);
