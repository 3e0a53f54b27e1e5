/*
 * Materialized tables: a function makes all rows of such a table when it is first read. They
 * replace queries that would take SQL many seconds.
 *
 * A table without an argument is made with CREATE VIRTUAL TABLE name USING module, and keeps its
 * rows. A table with an argument is a function in FROM, module(argument), whose rows live as long
 * as the cursor that reads them.
 *
 * Threads   one user.
 * Fails     with SQLite's codes; the text of an error is for sqlite3_free().
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct hs_materialized_table {
    const char *name;
    const char *schema;  /* CREATE TABLE x(...); the argument is the last column, HIDDEN */
    const char *needs;   /* a query that must be valid when the table is made; NULL: none */
    int argument_column; /* 0: the table has no argument */
    /* Makes the rows, in whatever form the other functions read. */
    int (*make)(sqlite3 *db, void *ctx, sqlite3_value *argument, void **ret_rows, char **ret_error);
    void (*free)(void *rows);
    uint32_t (*count)(const void *rows);
    void (*column)(const void *rows, uint32_t row, int column, sqlite3_context *context);
    /* NULL, or a function that finds the row with an id; then column 0 is an id that grows from row
     * to row. */
    bool (*find)(const void *rows, int64_t id, uint32_t *ret_row);
};

/* Registers the module. `table` and ctx must stay valid as long as tables are read. Returns 0 or an
 * SQLite error code. */
int hs_materialized_table_register(sqlite3 *db, const struct hs_materialized_table *table,
                                   void *ctx);
