/*
 * The tables of a store as virtual tables of SQLite: read-only, nothing is copied.
 *
 * SQLite asks for all rows of a table, or for those whose column has one value; the second is looked up in an index
 * (rows.h). So a join on any column is quick, and loading a file costs no insertion.
 *
 *     CREATE VIRTUAL TABLE name USING heapscope_rows(name)
 *
 * Threads   that of the connection.
 */
#pragma once

#include <sqlite3.h>

struct hs_sql_store;

/* The connection owns the store from now on, even after a failure. An SQLite result. */
int hs_rows_module_register(sqlite3 *db, struct hs_sql_store *store);
