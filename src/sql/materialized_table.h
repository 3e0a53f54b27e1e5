/*
 * Tables whose rows are made at once by a function, when they are first read: what SQL would take many seconds for.
 *
 * A table without an argument is made with CREATE VIRTUAL TABLE name USING module, and keeps its rows. One with an
 * argument is a function in FROM, module(argument), whose rows live as long as it is read.
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
    const char *needs;   /* a query that must be possible when the table is made; NULL: none */
    int argument_column; /* 0: it has none */
    /* The rows, whatever they are. */
    int (*make)(sqlite3 *db, void *ctx, sqlite3_value *argument, void **ret_rows, char **ret_error);
    void (*free)(void *rows);
    uint32_t (*count)(const void *rows);
    void (*column)(const void *rows, uint32_t row, int column, sqlite3_context *context);
    /* NULL, or: column 0 is an id that grows from row to row, and this is the row with it. */
    bool (*find)(const void *rows, int64_t id, uint32_t *ret_row);
};

/* `table` must stay; so must ctx, as long as tables are read. 0 or an SQLite error code. */
int hs_materialized_table_register(sqlite3 *db, const struct hs_materialized_table *table,
                                   void *ctx);
