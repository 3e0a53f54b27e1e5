/*
 * Leaves out of GROUP BY what its other terms decide.
 *
 * Who wants a stack's function and module beside its id groups by all three, as SQL asks for it. Where tables are
 * joined by their keys, the id decides the rest, and a group is the same without. SQLite does not look for that: it
 * sorts by all terms, while those of one table alone it takes in the order that rows_module.h has them in. (The planner of
 * PostgreSQL does the same with primary keys.)
 *
 * Only the plain form is understood:
 *
 *   SELECT ... FROM t [AS] a JOIN u [AS] b ON a.x = b.id [AND ...] ... [WHERE ...] GROUP BY a.x, 2, b.name ...
 *
 * Any other is left as it is, and so are tables that are not heapscope's own.
 */
#pragma once

#include <stddef.h>

#include <sqlite3.h>

/* Writes blanks over such terms, so that all other text stays where it was. `text` is one statement. */
void hs_sql_group_terms_reduce(sqlite3 *db, char *text, size_t bytes);
