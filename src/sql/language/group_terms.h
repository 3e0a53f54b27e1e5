/*
 * Removes terms of GROUP BY that are determined by its other terms.
 *
 * A query that selects a stack's id, function and module groups by all three, as SQL requires. If
 * the tables are joined by their keys, the id determines the function and the module, and the
 * groups are the same without them. SQLite does not detect this: it sorts by all terms. If all
 * terms belong to one table, SQLite needs no sort, because rows_module.h returns the rows in their
 * order. (PostgreSQL's planner does the same reduction for primary keys.)
 *
 * Only this plain form is recognised:
 *
 *   SELECT ... FROM t [AS] a JOIN u [AS] b ON a.x = b.id [AND ...] ... [WHERE ...]
 *   GROUP BY a.x, 2, b.name ...
 *
 * Any other statement stays unchanged, as do statements over tables that are not heapscope's own.
 */
#pragma once

#include <stddef.h>

#include <sqlite3.h>

/* Overwrites such terms with blanks, so that all other text keeps its position. `text` is one
 * statement. */
void hs_sql_group_terms_reduce(sqlite3 *db, char *text, size_t bytes);
