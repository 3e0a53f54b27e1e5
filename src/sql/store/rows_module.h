/*
 * Makes the tables of a store virtual tables of SQLite, which are read-only and copy nothing.
 *
 * SQLite asks for all rows of a table, or for the rows in which a column has a certain value. An
 * index (rows.h) finds the latter. So a join on any column is fast, and loading a file needs no
 * insertions.
 *
 *     CREATE VIRTUAL TABLE name USING heapscope_rows(name)
 *
 * Threads   that of the connection.
 */
#pragma once

#include <sqlite3.h>

struct hs_sql_store;

/* Registers the module. The connection takes over the store, even after a failure. Returns an
 * SQLite result code. */
int hs_rows_module_register(sqlite3 *db, struct hs_sql_store *store);
