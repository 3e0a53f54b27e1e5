/* rows.h and rows_module.h: rows, their indexes, and how SQLite sees them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "sql/store/rows_module.h"
#include "sql/store/sql_store.h"

#define ROWS 1000

static void fill(struct hs_rows *rows)
{
    hs_rows_init(rows, "t", "id # value int other real");
    for (int64_t i = 0; i < ROWS; i++) {
        uint32_t row;
        const int64_t cells[] = { i % 7, hs_rows_real(0.5) };
        assert_int_equal(hs_rows_add(rows, cells, &row), 0);
        assert_int_equal(row, i);
    }
}

static void test_columns(void **state)
{
    (void)state;
    struct hs_rows rows;
    hs_rows_init(&rows, "t", "id # a int b real c text");
    assert_int_equal(rows.column_count, 4);
    assert_int_equal(rows.width, 3);
    assert_int_equal(rows.columns[3].type, HS_ROWS_TEXT);
    assert_int_equal(rows.columns[3].cell, 2);
    assert_memory_equal(rows.columns[2].name, "b", 1);
    hs_rows_deinit(&rows);
}

static void test_index(void **state)
{
    (void)state;
    struct hs_rows rows;
    fill(&rows);
    assert_int_equal(hs_rows_index(&rows, 1), 0);
    uint32_t count = 0, last = 0;
    for (uint32_t row = hs_rows_first(&rows, 1, 3); row != HS_ROWS_NONE;
         row = hs_rows_next(&rows, 1, row, 3)) {
        assert_int_equal(row % 7, 3);
        assert_true(count == 0 || row > last);
        last = row;
        count++;
    }
    assert_int_equal(count, 143);
    assert_int_equal(hs_rows_first(&rows, 1, 7), HS_ROWS_NONE);
    assert_int_equal(hs_rows_first(&rows, 0, 999), 999);
    assert_int_equal(hs_rows_first(&rows, 0, 1000), HS_ROWS_NONE);
    assert_int_equal(hs_rows_first(&rows, 0, -1), HS_ROWS_NONE);
    assert_true(hs_rows_per_value(&rows, 1) > 100 && hs_rows_per_value(&rows, 1) < 200);
    hs_rows_deinit(&rows);
}

static void test_order(void **state)
{
    (void)state;
    struct hs_rows rows;
    hs_rows_init(&rows, "t", "id # a int b int");
    static const int64_t values[] = { 5, HS_ROWS_NULL, -3, INT64_MAX, 70000, 5, -70000 };
    static const uint32_t sorted[] = { 1, 6, 2, 0, 5, 4, 3 };
    const struct hs_rows_texts texts = { .count = 0, .compare = NULL, .ctx = NULL };
    uint32_t row;
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(hs_rows_add(&rows, (const int64_t[]){ values[i], (int64_t)i % 2 }, &row),
                         0);
    }
    const struct hs_rows_order *order = hs_rows_order(&rows, (const uint8_t[]){ 1 }, 1, &texts);
    assert_non_null(order);
    assert_memory_equal(order->rows, sorted, sizeof(sorted));
    assert_ptr_equal(hs_rows_order(&rows, (const uint8_t[]){ 1 }, 1, &texts), order);
    static const uint32_t by_both[] = { 6, 2, 0, 4, 1, 5, 3 };
    order = hs_rows_order(&rows, (const uint8_t[]){ 2, 1 }, 2, &texts);
    assert_non_null(order);
    assert_memory_equal(order->rows, by_both, sizeof(by_both));
    hs_rows_deinit(&rows);
}

static sqlite3 *open_store(void)
{
    struct hs_sql_store *store = hs_sql_store_new();
    sqlite3 *db;
    assert_non_null(store);
    hs_sql_store_str(store, "odd"); /* ids of texts are not in the order of texts */
    for (int64_t i = 0; i < ROWS; i++) {
        int64_t name = hs_sql_store_str(store, i % 2 ? "odd" : "even");
        HS_SQL_ADD(store, HS_SQL_FRAME, name, i % 10, i, HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL);
    }
    assert_int_equal(store->err, 0);
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(hs_rows_module_register(db, store), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db,
                     "CREATE VIRTUAL TABLE f USING heapscope_rows(__intrinsic_stack_profile_frame)",
                     NULL, NULL, NULL),
        SQLITE_OK);
    return db;
}

static int64_t ask(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static void test_queries(void **state)
{
    (void)state;
    sqlite3 *db = open_store();
    const struct {
        const char *sql;
        int64_t value;
    } cases[] = {
        { "SELECT count(*) FROM f", ROWS },
        { "SELECT count(*) FROM f WHERE name = 'odd'", ROWS / 2 },
        { "SELECT count(*) FROM f WHERE name = 'none'", 0 },
        { "SELECT count(*) FROM f WHERE name = 'ODD' COLLATE NOCASE", ROWS / 2 },
        { "SELECT count(*) FROM f WHERE name IS NULL", 0 },
        { "SELECT count(*) FROM f WHERE symbol_set_id IS NULL", ROWS },
        { "SELECT count(*) FROM f WHERE symbol_set_id = NULL", 0 },
        { "SELECT count(*) FROM f WHERE mapping = 3", ROWS / 10 },
        { "SELECT count(*) FROM f WHERE mapping = '3'", ROWS / 10 },
        { "SELECT count(*) FROM f WHERE mapping = 3.0", ROWS / 10 },
        { "SELECT count(*) FROM f WHERE mapping = 3.5", 0 },
        { "SELECT count(*) FROM f WHERE mapping IN (1, 2, 99)", ROWS / 5 },
        { "SELECT count(*) FROM f WHERE mapping = 3 AND name = 'odd'", ROWS / 10 },
        { "SELECT count(*) FROM f WHERE mapping = 3 AND name = 'even'", 0 },
        { "SELECT count(*) FROM f WHERE mapping = 'x'", 0 },
        { "SELECT count(*) FROM f WHERE mapping = x'33'", 0 },
        { "SELECT count(*) FROM f WHERE mapping = 3e300", 0 },
        { "SELECT count(*) FROM f WHERE id = 77.0", 1 },
        { "SELECT count(*) FROM f WHERE id = 77.5", 0 },
        { "SELECT count(*) FROM f WHERE id = '77'", 1 },
        { "SELECT group_concat(mapping) = '0,1,2,3,4,5,6,7,8,9' FROM (SELECT mapping FROM f GROUP "
          "BY mapping)",
          1 },
        { "SELECT group_concat(n) = '500,500' FROM (SELECT count(*) AS n FROM f GROUP BY name)",
          1 },
        { "SELECT group_concat(id) = '0,10,20' FROM (SELECT id FROM f ORDER BY mapping LIMIT 3)",
          1 },
        { "SELECT group_concat(id) = '9,19,29' FROM (SELECT id FROM f ORDER BY mapping DESC, id "
          "LIMIT 3)",
          1 },
        { "SELECT group_concat(name) = 'even,even' FROM (SELECT name FROM f ORDER BY name LIMIT 2)",
          1 },
        { "SELECT count(*) FROM (SELECT DISTINCT name, mapping FROM f)", 10 },
        /* "odd" was stored before "even". */
        { "SELECT group_concat(name) = 'even,odd' FROM (SELECT name FROM f GROUP BY name ORDER BY "
          "name)",
          1 },
        { "SELECT group_concat(name) = 'odd,even' FROM (SELECT name FROM f GROUP BY name ORDER BY "
          "name DESC)",
          1 },
        { "SELECT group_concat(name || n) = 'even500,odd500' FROM (SELECT name, count(*) AS n FROM "
          "f GROUP BY 1 ORDER BY 1)",
          1 },
        { "SELECT group_concat(m) = '9,8,7,6,5,4,3,2,1,0' FROM (SELECT mapping AS m FROM f GROUP "
          "BY "
          "mapping ORDER BY mapping DESC)",
          1 },
        { "SELECT group_concat(name || m) = 'even0,even2,even4,even6,even8,odd1,odd3,odd5,odd7,"
          "odd9' FROM (SELECT name, mapping AS m FROM f GROUP BY name, mapping ORDER BY name, "
          "mapping)",
          1 },
        { "SELECT sum(id = k) FROM (SELECT id, row_number() OVER (ORDER BY mapping, id) - 1 AS k "
          "FROM f)",
          10 },
        { "SELECT rel_pc FROM f WHERE id = 77", 77 },
        { "SELECT id FROM f WHERE mapping = 4 ORDER BY id DESC LIMIT 1", 994 },
        { "SELECT id FROM f WHERE mapping = 4 ORDER BY id LIMIT 1 OFFSET 2", 24 },
        { "SELECT count(*) FROM f a JOIN f b ON a.mapping = b.rel_pc", ROWS },
        { "SELECT sum(b.id) FROM f a JOIN f b ON b.id = a.mapping WHERE a.id < 10", 45 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t value = ask(db, cases[i].sql);
        if (value != cases[i].value) {
            fail_msg("%s: %lld", cases[i].sql, (long long)value);
        }
    }
    assert_int_not_equal(sqlite3_exec(db, "DELETE FROM f", NULL, NULL, NULL), SQLITE_OK);
    assert_int_not_equal(
        sqlite3_exec(db, "CREATE VIRTUAL TABLE g USING heapscope_rows(nothing)", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_index),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_queries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
