/*
 * sql_session.h with token.h and script.c: statements are split, expanded and executed; error
 * messages have the place.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rt/base.h"
#include "sql/language/result_rows.h"
#include "sql/language/sql_session.h"
#include "sql/language/token.h"

static const char tables[] =
    "CREATE TABLE real(a, b); INSERT INTO real VALUES(1, 'x'), (2, NULL);"
    "CREATE TABLE other(weird, deepth); CREATE VIEW again AS SELECT * FROM other;";

struct world {
    sqlite3 *db;
    struct hs_sql *sql;
    struct hs_buf out;
};

static void open_world(struct world *world)
{
    assert_int_equal(sqlite3_open(":memory:", &world->db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(world->db, tables, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(hs_sql_secure(world->db), 0);
    assert_int_equal(hs_sql_new(world->db, &world->sql), 0);
    hs_buf_init(&world->out, NULL, NULL);
}

static void close_world(struct world *world)
{
    hs_sql_free(world->sql);
    assert_int_equal(sqlite3_close(world->db), SQLITE_OK);
    hs_buf_deinit(&world->out);
}

/* Runs one text in a new database; compares the output as CSV, or the message. */
static void check_run(const char *text, int wanted_result, const char *wanted)
{
    struct world world;
    struct hs_sql_writer writer;
    open_world(&world);
    hs_sql_set_budget(world.sql, 20000);
    hs_sql_writer_init(&writer, &world.out, HS_SQL_FORMAT_CSV);
    struct hs_sql_rows rows = hs_sql_writer_rows(&writer);
    int result = hs_sql_run(world.sql, text, strlen(text), "Q", &rows);
    const char *said = result == 0 ? hs_buf_text(&world.out) : hs_sql_error(world.sql);
    if (result != wanted_result || !strstr(said, wanted)) {
        fail_msg("%s\ngave %d:\n%s\nnot %d:\n%s", text, result, said, wanted_result, wanted);
    }
    hs_sql_writer_deinit(&writer);
    close_world(&world);
}

static void test_language(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "SELECT a, b FROM real", "\"a\",\"b\"\n1,\"x\"\n2,\"[NULL]\"\n" },
        { "SELECT ';' AS s -- ; not an end\n; /* ; */ SELECT 2 AS t;;",
          "\"s\"\n\";\"\n\n\"t\"\n2\n" },
        { "CREATE PERFETTO TABLE t(a INT) AS SELECT a FROM real; SELECT SUM(a) AS s FROM t",
          "\"s\"\n3\n" },
        { "CREATE PERFETTO TABLE t AS SELECT 1 AS x; CREATE OR REPLACE PERFETTO TABLE t AS SELECT "
          "2 AS x;"
          "CREATE PERFETTO INDEX i ON t(x); SELECT x FROM t",
          "\"x\"\n2\n" },
        { "CREATE PERFETTO VIEW v AS SELECT b FROM real WHERE a = 1; SELECT * FROM v",
          "\"b\"\n\"x\"\n" },
        { "CREATE PERFETTO MACRO m(a Expr, t TableOrSubquery) RETURNS X AS (SELECT $a AS y FROM "
          "$t);"
          "SELECT y FROM m!(MAX(a, 1), (SELECT 7 AS a))",
          "\"y\"\n7\n" },
        { "CREATE PERFETTO MACRO one(a X) RETURNS X AS $a + 1;"
          "CREATE PERFETTO MACRO two(a X) RETURNS X AS one!($a) * 2; SELECT two!(one!(3)) AS r",
          "\"r\"\n6\n" },
        { "SELECT 'm!(1)' AS s, 1 != (2) AS u", "\"s\",\"u\"\n\"m!(1)\",1\n" },
        { "CREATE PERFETTO FUNCTION f(n INT) RETURNS INT AS SELECT CASE WHEN $n < 2 THEN 1 ELSE 3 "
          "END;"
          "SELECT f(1) + f(2) AS s",
          "\"s\"\n4\n" },
        { "CREATE PERFETTO FUNCTION f(lo INT) RETURNS TABLE(x INT) AS SELECT a FROM real WHERE a > "
          "$lo;"
          "SELECT x FROM f(1)",
          "\"x\"\n2\n" },
        { "CREATE PERFETTO MACRO eq(l X, r X) RETURNS X AS $l = $r;"
          "SELECT __intrinsic_token_apply_and!((a, 1), (1, 1), eq) AS t, __intrinsic_stringify!(b "
          "|| 'c') "
          "AS s FROM real LIMIT 1",
          "\"t\",\"s\"\n1,\"b || 'c'\"\n" },
        { "CREATE TABLE plain(x); INSERT INTO plain VALUES(5); CREATE INDEX j ON plain(x); SELECT "
          "name "
          "FROM sqlite_temp_schema ORDER BY name",
          "\"name\"\n\"j\"\n\"plain\"\n" },
        { "SELECT 'ab12' REGEXP 'b\\d' AS r, regexp_extract('k=v', '=(.*)') AS e, "
          "base64_encode('abcd') "
          "AS c, DEMANGLE('_ZN1a1bEv') AS d, DEMANGLE('main') AS n",
          "1,\"v\",\"YWJjZA==\",\"a::b()\",\"[NULL]\"\n" },
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        check_run(cases[i][0], 0, cases[i][1]);
    }
}

static void test_messages_name_the_place(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "SELECT 1;\n  SELEC 2", "syntax error\nQ, line 2, column 3:\n    SELEC 2\n    ^" },
        { "SELECT * FROM reel", "no such table: reel; did you mean real?\nQ, line 1, column 15:" },
        { "SELECT b, aa FROM real", "no such column: aa" },
        { "SELECT AAA FROM real", "no such column: AAA\nQ" },
        { "SELECT wierd FROM real", "no such column: wierd; did you mean weird?" },
        { "SELECT depth FROM real", "no such column: depth; did you mean deepth?" },
        { "SELECT weird FROM real", "; there is one in again and other\nQ, line 1, column 8" },
        { "SELECT * FROM REEL", "no such table: REEL; did you mean real?\nQ, line 1, column 15:" },
        { "SELECT * FROM reals", "did you mean real?" },
        { "SELECT * FROM heapscope_stacks", "no such table: heapscope_stacks\nQ" },
        { "SELECT * FROM stacks", "no such table: stacks; did you mean experimental_" },
        { "SELECT * FROM _android_heap_profile_intervals",
          "; INCLUDE PERFETTO MODULE android.memory.heap_profile.intervals defines it\nQ" },
        { "SELECT * FROM _android_heap_profile_intervalls",
          "; did you mean _android_heap_profile_intervals, which INCLUDE PERFETTO MODULE "
          "android.memory.heap_profile.intervals defines?\nQ" },
        { "SELECT * FROM _callstacks_for_stack_profile_samples!((SELECT 1))",
          "_samples!; INCLUDE PERFETTO MODULE callstacks.stack_profile defines it\nQ" },
        { "CREATE PERFETTO MACRO triple(a X) RETURNS X AS 3 * $a; SELECT tripel!(1)",
          "there is no macro tripel!; did you mean triple?" },
        { "SELECT leength(a) FROM real", "did you mean length?" },
        { "INCLUDE PERFETTO MODULE callstacks.stack_profil",
          "did you mean callstacks.stack_profile?" },
        { "INCLUDE PERFETTO MODULE callstacks.symbolize", "does not exist here" },
        { "INCLUDE PERFETTO MODULE callstacks.stack_profile",
          "\nmodule callstacks.stack_profile, line " },
        { "SELECT 1 + nothing!(2)", "there is no macro nothing!" },
        { "CREATE PERFETTO MACRO m(a X) RETURNS X AS $a; SELECT m!(1, 2)",
          "takes 1 arguments, 2 are" },
        { "CREATE PERFETTO MACRO m(a X) RETURNS X AS $a; SELECT m!(1", "never closed" },
        { "CREATE PERFETTO TABLE t(z INT) AS SELECT 1 AS a", "declares a column z" },
        { "CREATE PERFETTO THING x", "TABLE, VIEW, INDEX, FUNCTION or MACRO" },
        { "CREATE PERFETTO FUNCTION f() RETURNS INT AS SELECT 1, 2",
          "must be a SELECT with 1 column" },
        { "ATTACH '/tmp/none.db' AS x", "too many attached" },
        { "SELECT load_extension('x')", "" },
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        check_run(cases[i][0], HS_SQL_E_STATEMENT, cases[i][1]);
    }
}

static void test_nothing_goes_on_for_ever(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "CREATE PERFETTO MACRO m(a X) RETURNS X AS m!($a); SELECT m!(1)", "too much" },
        { "CREATE PERFETTO MACRO m(a X) RETURNS X AS m!($a $a) m!($a $a); SELECT m!(1)",
          "too much" },
        { "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT MAX(x) FROM r",
          "takes too long" },
        { "CREATE PERFETTO FUNCTION f(n INT) RETURNS INT AS SELECT $n; CREATE OR REPLACE PERFETTO "
          "FUNCTION f(n INT) RETURNS INT AS SELECT f($n + 1); SELECT f(1)",
          "calls itself" },
        { "SELECT ('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' || '!') REGEXP '^(a|a)*(a|aa)*$'",
          "too many steps" },
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        check_run(cases[i][0], HS_SQL_E_STATEMENT, cases[i][1]);
    }
}

static void test_json_is_exact_and_valid(void **state)
{
    (void)state;
    struct world world;
    struct hs_sql_writer writer;
    open_world(&world);
    hs_sql_writer_init(&writer, &world.out, HS_SQL_FORMAT_JSON);
    struct hs_sql_rows rows = hs_sql_writer_rows(&writer);
    static const char text[] = "SELECT 9223372036854775807 AS i, 0.1 AS d, 1e300 * 1e300 AS n, "
                               "CAST(x'41ff' AS TEXT) AS t, x'00ff' AS b, 2.0 AS w";
    assert_int_equal(hs_sql_run(world.sql, text, sizeof(text) - 1, NULL, &rows), 0);
    assert_string_equal(hs_buf_text(&world.out),
                        "[\n{\"i\": 9223372036854775807, \"d\": 0.1, \"n\": null, \"t\": "
                        "\"A\xEF\xBF\xBD\", \"b\": \"AP8=\", \"w\": 2.0}\n]\n");
    hs_sql_writer_deinit(&writer);
    close_world(&world);
}

static void test_statements_are_split(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t end_off;
        bool is_complete;
    } cases[] = {
        { "SELECT 1; SELECT 2", 9, true },
        { "SELECT ';", 9, false },
        { "SELECT 1 -- ;", 13, false },
        { "CREATE TRIGGER t AFTER INSERT ON x BEGIN SELECT 1; END; SELECT 2", 55, true },
        { "  -- nothing", 12, true },
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        bool is_complete;
        assert_int_equal(
            hs_sql_token_statement_end(cases[i].text, strlen(cases[i].text), 0, &is_complete),
            cases[i].end_off);
        assert_int_equal(is_complete, cases[i].is_complete);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_language),
        cmocka_unit_test(test_messages_name_the_place),
        cmocka_unit_test(test_nothing_goes_on_for_ever),
        cmocka_unit_test(test_json_is_exact_and_valid),
        cmocka_unit_test(test_statements_are_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
