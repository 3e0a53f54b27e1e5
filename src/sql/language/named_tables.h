/*
 * Finds out, before there is a database, which tables an SQL text will read, as far as the text
 * itself tells.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stddef.h>

/*
 * HS_SQL_PACKETS, HS_SQL_PROFILE of store/table_names.h, or both. Only a guess from names in the
 * text; a table that it misses is filled when it is read.
 */
unsigned hs_sql_named_tables(const char *text, size_t bytes);
