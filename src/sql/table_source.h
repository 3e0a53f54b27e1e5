/*
 * Where the rows of a database come from: the bytes of a file, and which of its tables have been
 * filled.
 *
 * A file is read once for all tables that are expected to be read. Perfetto's tables are made of
 * its packets, and the tables heapscope_* of its profile; one pass can make both
 * (import/import.h). Tables that nobody expected are filled by a pass of their own when a query
 * first reads one of them.
 *
 * Threads   one user.
 * Fails     -errno; HS_TRACE_E_FOREIGN of trace_reader.h; HS_SQL_E_NO_HEAP.
 */
#pragma once

#include <stddef.h>

#include "profile/analyse/heap_choice.h"
#include "profile/read/load.h"
#include "sql/store/sql_store.h"

/* The file has none of the heaps that a glob names. */
#define HS_SQL_E_NO_HEAP 17

/* Which heaps the tables contain. NULL in place of it: all. */
struct hs_sql_heaps {
    struct hs_heap_patterns patterns; /* live as long as the store */
    struct hs_buf *missing;           /* gets a text with HS_SQL_E_NO_HEAP */
};

struct hs_table_source;

/* Opens a file; "-" is standard input. */
int hs_table_source_open(const char *path, struct hs_table_source **ret_source);
/* Takes a file in memory, which must stay valid. Returns 0 or -ENOMEM. */
int hs_table_source_new(const void *data, size_t bytes, struct hs_table_source **ret_source);

/* Makes a store of the file, and fills the tables that are expected to be read: HS_SQL_PACKETS,
 * HS_SQL_PROFILE of store/table_names.h. The store takes over the source, which is freed after a
 * failure. With `heaps`, the profile is read in any case: it has the names of all heaps. */
int hs_table_source_fill(struct hs_table_source *source, unsigned expected,
                         const struct hs_sql_heaps *heaps, struct hs_sql_store **ret_store,
                         struct hs_load_report *ret_report);
