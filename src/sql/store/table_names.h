/*
 * The names of tables, the views under which queries know them, and where their rows come from.
 *
 * Threads   pure functions.
 * See       docs/SQL.md
 */
#pragma once

#include <stddef.h>

#include "sql/store/sql_store.h"

/* Tables by where their rows come from. */
#define HS_SQL_PACKETS 1U /* Perfetto's tables */
#define HS_SQL_PROFILE 2U /* heapscope_* */

/* A view: a table without the prefix of its name, or under a second name. */
struct hs_sql_view {
    const char *name;
    enum hs_sql_table table;
};

/* The view at `idx`; NULL after the last. */
const struct hs_sql_view *hs_sql_view(size_t idx);

/* HS_SQL_PACKETS or HS_SQL_PROFILE, for the name of a table or a view; 0: there is none. */
unsigned hs_sql_source_of(const char *name);
