/*
 * The stored rows of a flame graph's query: CREATE VIRTUAL TABLE t USING
 * __intrinsic_flamegraph((SELECT ...)).
 *
 * Ensures   id, parent_id and name are columns of the query; every other column is a value or a
 *           property. The tree was checked: it has no cycles, no missing parents and no duplicate
 *           ids.
 * Fails     an SQLite error code, with a text for sqlite3_free().
 */
#pragma once

#include <sqlite3.h>

#include "sql/flamegraph/flamegraph.h"
#include "util/buf.h"
#include "util/intern.h"

struct hs_flamegraph_column {
    char *name;
    uint8_t *types; /* SQLITE_NULL, SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT */
    int64_t *words; /* the integer, the bits of the double, or the number of the text */
    size_t type_capacity, word_capacity;
};

struct hs_flamegraph_source {
    struct hs_flamegraph_column *columns; /* all columns of the query */
    size_t column_count;
    size_t id_column, parent_column, name_column;
    uint32_t node_count;
    uint32_t *parents, *order;
    struct hs_intern texts;
    struct hs_buf text_bytes; /* each text ends with NUL */
    size_t *text_offs;        /* by number; the last element is the end */
    size_t text_off_capacity;
};

/* Runs the query and stores its rows. Returns 0 or an SQLite error code with *ret_error set. */
int hs_flamegraph_source_load(sqlite3 *db, const char *query,
                              struct hs_flamegraph_source **ret_source, char **ret_error);
/* NULL is allowed. Returns NULL. */
struct hs_flamegraph_source *hs_flamegraph_source_free(struct hs_flamegraph_source *source);

/* The text with this number, and its length in bytes. */
const char *hs_flamegraph_source_text(const struct hs_flamegraph_source *source, int64_t number,
                                      size_t *ret_bytes);
