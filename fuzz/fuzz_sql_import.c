/*
 * Fuzz target: any bytes as a trace, or as a profile of any other kind, imported into tables. The
 * import must not crash, and its memory and time must stay in proportion to the input.
 *
 * Rows to which another row refers must exist, because queries follow the reference.
 */
#include <stdint.h>
#include <stdlib.h>

#include "check.h"
#include "sql/import/from_profile.h"
#include "sql/import/import.h"

enum { CALLSITE_DEPTH, CALLSITE_PARENT, CALLSITE_FRAME };

static void check_reference(const struct hs_sql_store *store, int64_t id, enum hs_sql_table table)
{
    check(id == HS_ROWS_NULL || (id >= 0 && id < store->tables[table].count));
}

static void check_stacks(const struct hs_sql_store *store)
{
    for (uint32_t i = 0; i < store->tables[HS_SQL_FRAME].count; i++) {
        const int64_t *cells = hs_rows_at(&store->tables[HS_SQL_FRAME], i);
        check_reference(store, cells[HS_SQL_FRAME_MAPPING], HS_SQL_MAPPING);
        check_reference(store, cells[HS_SQL_FRAME_SYMBOLS], HS_SQL_SYMBOL);
    }
    for (uint32_t i = 0; i < store->tables[HS_SQL_CALLSITE].count; i++) {
        const int64_t *cells = hs_rows_at(&store->tables[HS_SQL_CALLSITE], i);
        check_reference(store, cells[CALLSITE_FRAME], HS_SQL_FRAME);
        check(cells[CALLSITE_PARENT] == HS_ROWS_NULL || cells[CALLSITE_PARENT] < i);
        check((cells[CALLSITE_PARENT] == HS_ROWS_NULL) == (cells[CALLSITE_DEPTH] == 0));
    }
}

/* The process is the second cell, the call site the fourth. */
static void check_allocations(const struct hs_sql_store *store)
{
    for (uint32_t i = 0; i < store->tables[HS_SQL_ALLOCATION].count; i++) {
        const int64_t *cells = hs_rows_at(&store->tables[HS_SQL_ALLOCATION], i);
        check_reference(store, cells[1], HS_SQL_PROCESS);
        check_reference(store, cells[3], HS_SQL_CALLSITE);
    }
}

static void check_texts(const struct hs_sql_store *store)
{
    for (int t = 0; t < HS_SQL_TABLES_N; t++) {
        const struct hs_rows *rows = &store->tables[t];
        for (uint32_t c = 0; c < rows->column_count; c++) {
            for (uint32_t i = 0; rows->columns[c].type == HS_ROWS_TEXT && i < rows->count; i++) {
                int64_t id = hs_rows_get(rows, i, c);
                check(id == HS_ROWS_NULL || (id >= 0 && id < store->text_ids.count));
            }
        }
    }
}

static int fill(struct hs_sql_store *store, const uint8_t *data, size_t size)
{
    struct hs_profile *profile = NULL;
    int err = hs_sql_import(store, data, size, NULL, NULL);
    if (err == HS_TRACE_E_FOREIGN) {
        err = hs_profile_load_memory(data, size, &profile, NULL);
        if (err == 0) {
            hs_sql_from_profile(store, profile, NULL);
            err = store->err;
        }
    }
    hs_profile_free(profile);
    return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_sql_store *store = hs_sql_store_new();
    if (store && fill(store, data, size) == 0) {
        check_stacks(store);
        check_allocations(store);
        check_texts(store);
    }
    hs_sql_store_free(store);
    return 0;
}
