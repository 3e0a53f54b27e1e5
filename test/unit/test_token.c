/* Where token.h sees the ends of tokens, and what a quoted name means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rt/base.h"
#include "sql/language/token.h"

static void test_first_token(void **state)
{
    static const struct {
        const char *text;
        enum hs_sql_token_kind kind;
        size_t bytes;
    } cases[] = {
        { "", HS_SQL_TOKEN_END, 0 },
        { " \t\n\v\f\rx", HS_SQL_TOKEN_SPACE, 6 },
        { "-- a\n -- b\nx", HS_SQL_TOKEN_SPACE, 11 },
        { "-- a", HS_SQL_TOKEN_SPACE, 4 },
        { "/* a * / */x", HS_SQL_TOKEN_SPACE, 11 },
        { "/*/ x */x", HS_SQL_TOKEN_SPACE, 8 },
        { "/* a", HS_SQL_TOKEN_SPACE, 4 },
        { "-x", HS_SQL_TOKEN_SIGN, 1 },
        { "/x", HS_SQL_TOKEN_SIGN, 1 },
        { "-", HS_SQL_TOKEN_SIGN, 1 },
        { "a_1$\xc3\xa4 b", HS_SQL_TOKEN_WORD, 6 },
        { "Zz9.a", HS_SQL_TOKEN_WORD, 3 },
        { "'a''b'c", HS_SQL_TOKEN_STRING, 6 },
        { "''", HS_SQL_TOKEN_STRING, 2 },
        { "'a''", HS_SQL_TOKEN_STRING, 4 },
        { "\"a\"\"b\"c", HS_SQL_TOKEN_NAME, 6 },
        { "`a``b`c", HS_SQL_TOKEN_NAME, 6 },
        /* a bracket is never doubled */
        { "[a]]b]", HS_SQL_TOKEN_NAME, 3 },
        { "[a[b]c]", HS_SQL_TOKEN_NAME, 5 },
        { "[a", HS_SQL_TOKEN_NAME, 2 },
        { "]", HS_SQL_TOKEN_SIGN, 1 },
        { "x'0a'b", HS_SQL_TOKEN_NUMBER, 5 },
        { "X'0a", HS_SQL_TOKEN_NUMBER, 4 },
        { "x 'a'", HS_SQL_TOKEN_WORD, 1 },
        { "0x1F,", HS_SQL_TOKEN_NUMBER, 4 },
        { "1.5e+3+2", HS_SQL_TOKEN_NUMBER, 6 },
        { "1.5E-3-2", HS_SQL_TOKEN_NUMBER, 6 },
        { "1+2", HS_SQL_TOKEN_NUMBER, 1 },
        { ".5,", HS_SQL_TOKEN_NUMBER, 2 },
        { ".a", HS_SQL_TOKEN_SIGN, 1 },
        { ".", HS_SQL_TOKEN_SIGN, 1 },
        { "$abc,", HS_SQL_TOKEN_VARIABLE, 4 },
        { "$1", HS_SQL_TOKEN_SIGN, 1 },
        { "$", HS_SQL_TOKEN_SIGN, 1 },
        { ";", HS_SQL_TOKEN_SIGN, 1 },
    };
    (void)state;
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        /* between other bytes, so that nothing beyond the end may count */
        char text[32] = "(";
        strcat(strcat(text, cases[i].text), "]''*/+");
        struct hs_sql_token token = hs_sql_token_at(text, 1 + strlen(cases[i].text), 1);
        print_message("  %s\n", cases[i].text);
        assert_int_equal(token.kind, cases[i].kind);
        assert_int_equal(token.begin_off, 1);
        assert_int_equal(token.bytes, cases[i].bytes);
    }
}

static void test_names(void **state)
{
    static const struct {
        const char *text, *name;
    } cases[] = {
        { "plain", "plain" }, { "\"a\"\"b\"", "a\"b" }, { "`a``b`", "a`b" },
        { "'a''b'", "a'b" },  { "\"\"", "" },           { "\"a``b\"", "a``b" },
        { "[a[b]", "a[b" },   { "[a[[b]", "a[[b" },     { "\"open", "open" },
        { "[open", "open" },  { "[a\"\"]", "a\"\"" },   { "\"", "" },
    };
    (void)state;
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        size_t bytes = strlen(cases[i].text);
        struct hs_sql_token token = hs_sql_token_at(cases[i].text, bytes, 0);
        print_message("  %s\n", cases[i].text);
        assert_int_equal(token.bytes, bytes);
        char *name = hs_sql_token_name(cases[i].text, token);
        assert_string_equal(name, cases[i].name);
        free(name);
    }
}

static void test_words(void **state)
{
    (void)state;
    const char *text = " /* x */ SeLecT 'select' [select] selects";
    size_t bytes = strlen(text);
    struct hs_sql_token token = hs_sql_token_solid(text, bytes, 0);
    assert_int_equal(token.begin_off, 9);
    assert_true(hs_sql_token_is(text, token, "select"));
    assert_false(hs_sql_token_is(text, token, "sel"));
    for (int i = 0; i < 3; i++) {
        token = hs_sql_token_solid(text, bytes, token.begin_off + token.bytes);
        assert_int_not_equal(token.kind, HS_SQL_TOKEN_END);
        assert_false(hs_sql_token_is(text, token, "select"));
    }
    token = hs_sql_token_solid(text, bytes, token.begin_off + token.bytes);
    assert_int_equal(token.kind, HS_SQL_TOKEN_END);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_token),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
