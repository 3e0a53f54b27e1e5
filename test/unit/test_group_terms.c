/* GROUP BY: which terms are removed, which stay, and which statements are not changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rt/base.h"
#include "sql/database.h"
#include "sql/language/group_terms.h"

#define SITES   "heap_profile_allocation a JOIN stack_profile_callsite c ON a.callsite_id = c.id"
#define FRAMES  SITES " JOIN stack_profile_frame f ON c.frame_id = f.id"
#define MODULES FRAMES " JOIN stack_profile_mapping m ON f.mapping = m.id"

static sqlite3 *open_database(void)
{
    static const char folded[] = "main;f 3\nmain;g 4\n";
    sqlite3 *db = NULL;
    assert_int_equal(hs_sql_open_memory(folded, sizeof(folded) - 1, &db, NULL), 0);
    return db;
}

/* Compares the resulting text, in which each run of blanks counts as one. */
static void check(sqlite3 *db, const char *before, const char *wanted)
{
    size_t bytes = strlen(before), out = 0;
    char *text = strdup(before);
    assert_non_null(text);
    hs_sql_group_terms_reduce(db, text, bytes);
    assert_int_equal(strlen(text), bytes);
    for (size_t i = 0; i < bytes; i++) {
        assert_true(text[i] == before[i] || text[i] == ' ');
        if (text[i] != ' ' || (out > 0 && text[out - 1] != ' ')) {
            text[out++] = text[i];
        }
    }
    text[out] = '\0';
    if (strcmp(text, wanted) != 0) {
        fail_msg("%s\nbecame %s\nnot    %s", before, text, wanted);
    }
    free(text);
}

static void test_reduced(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        /* heapprofd's documentation */
        { "select a.callsite_id, a.ts, a.upid, f.name, f.rel_pc, m.build_id, m.name as "
          "mapping_name, sum(a.size) as space_size from " MODULES
          " group by 1, 2, 3, 4, 5, 6, 7 order by space_size desc",
          "select a.callsite_id, a.ts, a.upid, f.name, f.rel_pc, m.build_id, m.name as "
          "mapping_name, sum(a.size) as space_size from " MODULES
          " group by 1, 2, 3 order by space_size desc" },
        { "SELECT f.id, f.name, m.name x FROM " MODULES " GROUP BY f.id, f.name, m.name;",
          "SELECT f.id, f.name, m.name x FROM " MODULES " GROUP BY f.id ;" },
        /* Only terms before this one decide: a sort gives the same order. */
        { "SELECT f.name, f.id, m.name FROM " MODULES " GROUP BY 1, 2, 3",
          "SELECT f.name, f.id, m.name FROM " MODULES " GROUP BY 1, 2 " },
        { "SELECT m.name, a.callsite_id, f.name FROM " MODULES
          " WHERE a.ts IN (SELECT max(ts) FROM heap_profile) GROUP BY m.name, a.callsite_id, "
          "F.Name HAVING sum(a.size) > 0",
          "SELECT m.name, a.callsite_id, f.name FROM " MODULES
          " WHERE a.ts IN (SELECT max(ts) FROM heap_profile) GROUP BY m.name, a.callsite_id "
          "HAVING sum(a.size) > 0" },
        { "EXPLAIN QUERY PLAN SELECT c.id, c.depth, 3 FROM " SITES " GROUP BY 1, 2, 3",
          "EXPLAIN QUERY PLAN SELECT c.id, c.depth, 3 FROM " SITES " GROUP BY 1 , 3" },
        { "SELECT c.id, f.name /* , */, count(*) FROM stack_profile_frame AS f INNER JOIN "
          "stack_profile_callsite AS c ON f.id == c.frame_id AND f.name = f.name GROUP BY 1, 2",
          "SELECT c.id, f.name /* , */, count(*) FROM stack_profile_frame AS f INNER JOIN "
          "stack_profile_callsite AS c ON f.id == c.frame_id AND f.name = f.name GROUP BY 1 " },
    };
    sqlite3 *db = open_database();
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        check(db, cases[i][0], cases[i][1]);
    }
    sqlite3_close(db);
}

/* Each differs in one detail from a statement that is reduced. */
static void test_left_alone(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "SELECT f.name, f.rel_pc FROM " FRAMES " GROUP BY 1, 2",
        "SELECT c.frame_id, c.depth FROM " SITES " GROUP BY 1, 2",
        "SELECT *, f.id, f.name FROM " FRAMES " GROUP BY 1, 2",
        "SELECT a.*, f.id, f.name FROM " FRAMES " GROUP BY 1, 2",
        "SELECT f.id ISNULL, f.name FROM " FRAMES " GROUP BY 1, 2",
        "SELECT f.id COLLATE NOCASE, f.name FROM " FRAMES " GROUP BY 1, 2",
        "SELECT f.id + 1, f.name FROM " FRAMES " GROUP BY 1, 2",
        "SELECT id, name FROM stack_profile_frame GROUP BY 1, 2",
        "SELECT DISTINCT f.id, f.name FROM " FRAMES " GROUP BY 1, 2",
        "SELECT f.id, f.name FROM " FRAMES " GROUP BY 1, 2 UNION SELECT 1, 2",
        "SELECT 1, 2 FROM " FRAMES " WHERE 1 UNION SELECT f.id, f.name FROM " FRAMES
        " GROUP BY 1, 2",
        "SELECT f.id, f.name FROM " FRAMES " GROUP BY 1, f.name COLLATE NOCASE",
        "SELECT f.id, f.name FROM " FRAMES " GROUP BY 1.0, 2",
        "SELECT f.id, f.name FROM " FRAMES " GROUP BY 0x1, 2",
        "SELECT f.id, f.name FROM " FRAMES " GROUP BY 1, 99999999999999999999999999",
        "SELECT f.id, f.name FROM " FRAMES " GROUP BY 1, f.nosuch",
        "SELECT f.id FROM " FRAMES " GROUP BY 1, f.name",
        "SELECT a.callsite_id, f.name FROM heap_profile_allocation a LEFT JOIN "
        "stack_profile_callsite c ON a.callsite_id = c.id JOIN stack_profile_frame f ON c.frame_id "
        "= f.id GROUP BY 1, 2",
        "SELECT a.callsite_id, f.name FROM " SITES " JOIN stack_profile_frame f ON c.frame_id = "
        "f.id OR a.id = f.id GROUP BY 1, 2",
        "SELECT a.callsite_id, f.name FROM " SITES " JOIN stack_profile_frame f ON c.frame_id < "
        "f.id GROUP BY 1, 2",
        "SELECT a.callsite_id, f.name FROM " SITES " JOIN stack_profile_frame f USING (id) GROUP "
        "BY 1, 2",
        "SELECT a.callsite_id, f.name FROM " SITES ", stack_profile_frame f WHERE f.id = "
        "c.frame_id GROUP BY 1, 2",
        "SELECT a.id, a.ts FROM heap_profile_allocation a JOIN heap_profile_allocation a ON a.id = "
        "a.id GROUP BY 1, 2",
        "SELECT f.id, f.name FROM main.stack_profile_frame f GROUP BY 1, 2",
        "SELECT f.id, f.name FROM (SELECT 1 AS id, 2 AS name) f GROUP BY 1, 2",
        "SELECT f.id, f.name FROM nosuch f GROUP BY 1, 2",
        "SELECT f.id, f.name FROM trace_bounds f GROUP BY 1, 2",
        "WITH stack_profile_frame AS (SELECT 1 AS id, 2 AS name) SELECT f.id, f.name FROM "
        "stack_profile_frame f GROUP BY 1, 2",
        "SELECT (f.id, f.name FROM " FRAMES " GROUP BY 1, 2",
        "SELECT f.id, f.name FROM " FRAMES " GROUP BY",
        "SELECT f.id, f.name FROM " FRAMES " GROUP BY 1, 2)",
        "SELECT",
        "",
    };
    sqlite3 *db = open_database();
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        check(db, cases[i], cases[i]);
    }
    sqlite3_close(db);
}

/* A name with another meaning, and a database of another program. */
static void test_other_tables(void **state)
{
    (void)state;
    static const char query[] = "SELECT f.id, f.name FROM stack_profile_frame f GROUP BY 1, 2";
    static const char reduced[] = "SELECT f.id, f.name FROM stack_profile_frame f GROUP BY 1 ";
    static const char *const changes[] = {
        "CREATE TEMP TABLE Stack_profile_frame(id, name)",
        "DROP VIEW stack_profile_frame; CREATE VIEW stack_profile_frame AS SELECT 1 AS id, 2 AS "
        "name",
    };
    for (size_t i = 0; i < HS_COUNT_OF(changes); i++) {
        sqlite3 *db = open_database();
        check(db, query, reduced);
        assert_int_equal(sqlite3_exec(db, changes[i], NULL, NULL, NULL), SQLITE_OK);
        check(db, query, query);
        sqlite3_close(db);
    }
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "CREATE TABLE stack_profile_frame(id, name)", NULL, NULL, NULL),
        SQLITE_OK);
    check(db, query, query);
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reduced),
        cmocka_unit_test(test_left_alone),
        cmocka_unit_test(test_other_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
