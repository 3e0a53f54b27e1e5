/*
 * A database with PerfettoSQL, for `heapscope query` and for any other code that runs SQL.
 *
 * SQLite executes the statements. The session first handles what SQLite does not know: INCLUDE
 * PERFETTO MODULE, CREATE PERFETTO TABLE, VIEW, INDEX, FUNCTION and MACRO, and invocations of
 * macros, name!(arguments). Everything that a script creates is temporary: the database itself is
 * only read, and its file stays unchanged.
 *
 *     struct hs_sql *sql;
 *     if (hs_sql_new(db, &sql) == 0) {
 *         if (hs_sql_run(sql, text, bytes, "query.sql", &rows) == HS_SQL_E_STATEMENT) {
 *             puts(hs_sql_error(sql));
 *         }
 *         hs_sql_free(sql);
 *     }
 *
 * Requires  the session borrows the database, which must outlive it. The functions and modules that
 *           the session registers end with it: they must not be used later.
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

/* A statement failed. hs_sql_error() says which, where and why. The statements before it have been
 * executed. */
#define HS_SQL_E_STATEMENT 1

/* Callbacks that receive the rows. Each may be NULL. If one returns -errno, the run ends and
 * returns it. */
struct hs_sql_rows {
    void *ctx;
    /* once for each statement that returns rows, before its first row */
    int (*begin)(void *ctx, sqlite3_stmt *stmt);
    int (*row)(void *ctx, sqlite3_stmt *stmt);
    int (*end)(void *ctx, sqlite3_stmt *stmt);
};

/* Makes it safe to query a database of unknown origin on this connection: no second database, no
 * extensions, no writing to its schema, no views and triggers that call functions with side
 * effects, bounded lengths. Returns 0 or -EIO. */
int hs_sql_secure(sqlite3 *db);

/* Makes a session. Returns 0 or -ENOMEM. */
int hs_sql_new(sqlite3 *db, struct hs_sql **ret_sql);
/* NULL is allowed. Returns NULL. */
struct hs_sql *hs_sql_free(struct hs_sql *sql);

/* A running statement ends with an error when *stop is not 0. NULL: nothing stops it. */
void hs_sql_set_stop(struct hs_sql *sql, volatile sig_atomic_t *stop);
/* Limits the following runs to this many thousand steps of SQLite's virtual machine; 0: no limit.
 * For tests with malicious text. */
void hs_sql_set_budget(struct hs_sql *sql, uint64_t kilosteps);

/* Runs the statements of text[0 .. bytes). Messages call the text `origin`; NULL: it has no
 * name. */
int hs_sql_run(struct hs_sql *sql, const char *text, size_t bytes, const char *origin,
               const struct hs_sql_rows *rows);

/* Returns 0 if there is a table, a view or a table-valued function of this name. Otherwise returns
 * HS_SQL_E_STATEMENT, and the error suggests the names that may have been meant. */
int hs_sql_know_table(struct hs_sql *sql, const char *name);

/* The error of the last run, or of the last hs_sql_know_table(), that failed. */
const char *hs_sql_error(struct hs_sql *sql);

/* Name of the module at `idx`, in alphabetical order; NULL after the last. */
const char *hs_sql_module_name(size_t idx);
