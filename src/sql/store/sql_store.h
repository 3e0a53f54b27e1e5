/*
 * All tables of a database and the strings in them, before SQLite sees them.
 *
 * Tables and columns have the names of Perfetto's trace_processor, if it has them (docs/SQL.md).
 *
 * Holds     equal texts have the same id. Texts never move. After the first failure nothing more is
 *           added, and `err` has its reason.
 * Threads   one user.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/store/rows.h"
#include "util/intern.h"

enum hs_sql_table {
    HS_SQL_MAPPING,
    HS_SQL_FRAME,
    HS_SQL_CALLSITE,
    HS_SQL_SYMBOL,
    HS_SQL_ALLOCATION,
    HS_SQL_HEAP_PROFILE,
    HS_SQL_SMAPS,
    HS_SQL_STACK_SAMPLE,
    HS_SQL_STACK_TASK,
    HS_SQL_STACK_EXECUTION,
    HS_SQL_STACK_COUNTER,
    HS_SQL_PROCESS,
    HS_SQL_THREAD,
    HS_SQL_COUNTER,
    HS_SQL_TRACK,
    HS_SQL_PROCESS_TRACK,
    HS_SQL_CLOCK,
    HS_SQL_STATS,
    HS_SQL_METADATA,
    HS_SQL_ARGS,
    HS_SQL_AGGREGATE_PROFILE,
    HS_SQL_AGGREGATE_SAMPLE,
    /* Our own tables, which come from the profile of the same file and are filled when they are
     * first read. */
    HS_SQL_OWN_DUMPS,
    HS_SQL_OWN_NODES,
    HS_SQL_OWN_SAMPLES,
    HS_SQL_OWN_HEAPS,
    HS_SQL_OWN_THREADS,
    HS_SQL_OWN_LOSSES,
    HS_SQL_OWN_LOSS_TIMES,
    HS_SQL_OWN_COST,
    HS_SQL_OWN_NAMELESS,
    HS_SQL_OWN_PROCESSES,
    HS_SQL_OWN_CHANGES,
    HS_SQL_OWN_LEDGER,
    HS_SQL_OWN_MAPPED,
    HS_SQL_OWN_PINS,
    HS_SQL_OWN_PARTS,
    HS_SQL_OWN_BIRTHS,
    HS_SQL_OWN_LIFETIMES,
    HS_SQL_OWN_BLOCKS,
    HS_SQL_TABLES_N,
};

#define HS_SQL_OWN_FIRST HS_SQL_OWN_DUMPS

/* Columns that are set after the row was added; the order is that of the texts in sql_store.c. */
enum {
    HS_SQL_FRAME_NAME,
    HS_SQL_FRAME_MAPPING,
    HS_SQL_FRAME_PC,
    HS_SQL_FRAME_SYMBOLS,
    HS_SQL_FRAME_DEOBFUSCATED
};

struct hs_sql_kept_text {
    const char *text;
    size_t bytes;
};

struct hs_sql_store {
    struct hs_rows tables[HS_SQL_TABLES_N];
    struct hs_intern text_ids;
    struct hs_sql_kept_text *texts; /* by number */
    size_t text_capacity;
    struct hs_sql_chunk *chunks; /* chunks of text, newest first */
    int err;

    /* Are the tables from HS_SQL_OWN_FIRST on filled [true], and those before it [false]? */
    bool is_filled[2];
    /* Fills those that are not, when one of them is first read. NULL: rows are only added. */
    int (*fill)(struct hs_sql_store *store, bool is_own, void *ctx);
    void (*free_fill_ctx)(void *ctx);
    void *fill_ctx;
};

/* NULL: out of memory. */
struct hs_sql_store *hs_sql_store_new(void);
/* NULL is allowed. */
void hs_sql_store_free(struct hs_sql_store *store);

/* The number of a text; HS_ROWS_NULL after a failure. */
int64_t hs_sql_store_put(struct hs_sql_store *store, const void *text, size_t bytes);
/* As above, for a C string. NULL becomes HS_ROWS_NULL. */
int64_t hs_sql_store_str(struct hs_sql_store *store, const char *text);
/* Finds the number of a text, without adding it. */
bool hs_sql_store_find_text(const struct hs_sql_store *store, const char *text, size_t bytes,
                            int64_t *ret_id);
/* The text with this number and its length in bytes; "" if there is none. */
const char *hs_sql_store_text(const struct hs_sql_store *store, int64_t id, size_t *ret_bytes);

/* The name of a table, which is the same in all stores. */
const char *hs_sql_table_name(enum hs_sql_table table);
/* The table of this name; HS_SQL_TABLES_N if there is none. */
enum hs_sql_table hs_sql_store_find(const struct hs_sql_store *store, const char *name);
/* Fills the table if it has not been filled yet. Returns 0 or -errno. */
int hs_sql_store_need(struct hs_sql_store *store, enum hs_sql_table table);

/* Adds a row and returns its number; 0 after a failure. */
uint32_t hs_sql_store_add(struct hs_sql_store *store, enum hs_sql_table table, const int64_t *cells,
                          uint32_t cell_count);
#define HS_SQL_ADD(store, table, ...)                                                              \
    hs_sql_store_add(store, table, (const int64_t[]){ __VA_ARGS__ },                               \
                     sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))
