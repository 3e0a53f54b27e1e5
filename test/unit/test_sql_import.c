/* import.h: a trace as tables; and from_profile.h: a profile that was not read from a trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fixture_profile.h"
#include "sql/database.h"
#include "sql/import/from_profile.h"
#include "sql/import/import.h"
#include "sql/store/table_names.h"

static void test_not_a_trace(void **state)
{
    (void)state;
    sqlite3 *db;
    struct hs_load_report report;
    /* A trace without packets. */
    assert_int_equal(hs_sql_open_memory_for(HS_SQL_PACKETS, "", 0, NULL, &db, &report), 0);
    sqlite3_close(db);
    assert_int_equal(hs_sql_open_memory_for(HS_SQL_PACKETS, "#!/bin/sh\n", 10, NULL, &db, &report),
                     HS_TRACE_E_FOREIGN);
    assert_true(hs_sql_open_for(HS_SQL_PACKETS, "/nothing/here", NULL, &db, NULL) < 0);
}

static int64_t cell(const struct hs_sql_store *store, enum hs_sql_table table, uint32_t row,
                    uint32_t column)
{
    return hs_rows_get(&store->tables[table], row, column);
}

/* Rows contain what a dump adds to the one before, and what was freed. */
static void test_from_profile(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
    uint32_t load = fixture_call(&fx, main_, "load");
    fixture_process(&fx, 100, "prog");
    fixture_dump(&fx, 1)->has_samples = true;
    fixture_sample(&fx, load, fixture_exact(4096, 1), fixture_exact(8192, 2), fixture_exact(0, 0));
    fixture_dump(&fx, 1)->has_samples = true;
    fixture_sample(&fx, load, fixture_exact(4096, 1), fixture_exact(10192, 3), fixture_exact(0, 0));
    struct hs_sql_store *store = hs_sql_store_new();
    assert_non_null(store);
    hs_sql_from_profile(store, &fx.p, NULL);
    assert_int_equal(store->err, 0);
    assert_int_equal(store->tables[HS_SQL_CALLSITE].count, 2);
    int64_t sums[2] = { 0, 0 }, positive = 0;
    for (uint32_t i = 0; i < store->tables[HS_SQL_ALLOCATION].count; i++) {
        assert_int_equal(cell(store, HS_SQL_ALLOCATION, i, 2), 1);    /* upid */
        assert_int_equal(cell(store, HS_SQL_ALLOCATION, i, 4), load); /* call site */
        sums[0] += cell(store, HS_SQL_ALLOCATION, i, 5);
        sums[1] += cell(store, HS_SQL_ALLOCATION, i, 6);
        positive +=
            cell(store, HS_SQL_ALLOCATION, i, 6) > 0 ? cell(store, HS_SQL_ALLOCATION, i, 6) : 0;
    }
    assert_int_equal(sums[0], 1);
    assert_int_equal(sums[1], 4096);
    assert_int_equal(positive, 10192);
    assert_int_equal(store->tables[HS_SQL_AGGREGATE_PROFILE].count, 4);
    assert_int_equal(store->tables[HS_SQL_AGGREGATE_SAMPLE].count, 4);
    hs_sql_store_free(store);
    fixture_deinit(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_a_trace),
        cmocka_unit_test(test_from_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
