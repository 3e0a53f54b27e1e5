/*
 * A database with PerfettoSQL on top: what `heapscope query` asks, and whoever else has SQL to run.
 *
 * Statements go to SQLite. What SQLite does not know is done here first: INCLUDE PERFETTO MODULE, CREATE PERFETTO
 * TABLE, VIEW, INDEX, FUNCTION and MACRO, and invocations of macros, name!(arguments). Everything that a script
 * makes is temporary: the database itself is only read, and its file stays as it was.
 *
 *     struct hs_sql *sql;
 *     if (hs_sql_new(db, &sql) == 0) {
 *         if (hs_sql_run(sql, text, bytes, "query.sql", &rows) == HS_SQL_E_STATEMENT) {
 *             puts(hs_sql_error(sql));
 *         }
 *         hs_sql_free(sql);
 *     }
 *
 * Holds     the database is borrowed, and must outlive the session. Its functions and modules go with the session:
 *           nothing may use them later.
 * Threads   one.
 * Fails     -ENOMEM; HS_SQL_E_STATEMENT with a message that names the place.
 * See       docs/man/heapscope-query.1 for the language
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

struct hs_sql;

/* A statement failed, hs_sql_error() says which, where and why; those before it are done. */
#define HS_SQL_E_STATEMENT 1

/* Who gets the rows. Each may be NULL; a result of -errno ends the run, and is its result. */
struct hs_sql_rows {
    void *ctx;
    int (*begin)(void *ctx,
                 sqlite3_stmt *stmt); /* once a statement that gives rows, before the first */
    int (*row)(void *ctx, sqlite3_stmt *stmt);
    int (*end)(void *ctx, sqlite3_stmt *stmt);
};

/*
 * Makes a connection safe to ask a database that anybody may have written: no second database, no extensions, no
 * writing into its schema, views and triggers that call nothing with effects, bounded lengths.
 */
int hs_sql_secure(sqlite3 *db);

int hs_sql_new(sqlite3 *db, struct hs_sql **ret_sql);
struct hs_sql *hs_sql_free(struct hs_sql *sql);

/* When *stop is not 0, a running statement ends with an error. NULL: nothing stops it. */
void hs_sql_set_stop(struct hs_sql *sql, volatile sig_atomic_t *stop);
/* Ends a run after so many thousand steps of SQLite's machine; 0: never. For tests of hostile text. */
void hs_sql_set_budget(struct hs_sql *sql, uint64_t kilosteps);

/* Runs the statements of text[0 .. bytes); `origin` is what messages call it, NULL: nothing. */
int hs_sql_run(struct hs_sql *sql, const char *text, size_t bytes, const char *origin,
               const struct hs_sql_rows *rows);

/* 0 when there is a table, a view or a table-valued function of this name; else HS_SQL_E_STATEMENT, and the error says
 * what was perhaps meant. */
int hs_sql_know_table(struct hs_sql *sql, const char *name);

/* Of the last run, or question, that failed. */
const char *hs_sql_error(struct hs_sql *sql);

/* Name of module `idx`, in the order of the alphabet; NULL behind the last. */
const char *hs_sql_module_name(size_t idx);
