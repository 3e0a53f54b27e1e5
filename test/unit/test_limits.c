/* check/limits: values, files, precedence, and error messages. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "check/limits.h"

static int parse(struct hs_limits *limits, const char *text, struct hs_text_error *error)
{
    return hs_limits_parse(limits, "ci/memory.limits", text, strlen(text), error);
}

static void test_file(void **state)
{
    (void)state;
    struct hs_limits limits = { 0 };
    struct hs_text_error error;
    assert_int_equal(
        parse(&limits,
              "# all of them\n"
              "max-live 200M # at the end\n"
              "\tmax-peak\t1G\r\n"
              "max-leak 0\nmax-leak-stack 1.5K\nmax-allocs 12\n"
              "stack ^a b#c$=10\nstack x=y=2K\nstack x=y=3K\n"
              "against base.pftrace\nmax-growth 5%\n"
              "suppressions lsan.supp\nsuppressions /abs.supp\nsuppressions lsan.supp\n"
              "heap pool,gpu*\nheap lost pool\nheap pool,gpu*\n"
              "strict",
              &error),
        0);
    assert_true(limits.by[HS_LIMIT_LIVE].is_set && limits.by[HS_LIMIT_LIVE].value == 200 << 20);
    assert_true(limits.by[HS_LIMIT_PEAK].value == 1 << 30);
    assert_true(limits.by[HS_LIMIT_LEAK].is_set && limits.by[HS_LIMIT_LEAK].value == 0);
    assert_true(limits.by[HS_LIMIT_LEAK_STACK].value == 1536);
    assert_true(limits.by[HS_LIMIT_ALLOCS].value == 12);
    assert_int_equal(limits.stack_count, 2);
    assert_string_equal(limits.stacks[0].pattern, "^a b#c$");
    assert_string_equal(limits.stacks[1].pattern, "x=y");
    assert_true(limits.stacks[1].bytes == 3072);
    assert_string_equal(limits.against, "ci/base.pftrace");
    assert_true(limits.by[HS_LIMIT_GROWTH].is_share && limits.by[HS_LIMIT_GROWTH].value == 0.05);
    assert_int_equal(limits.suppression_count, 2);
    assert_string_equal(limits.suppression_paths[0], "ci/lsan.supp");
    assert_string_equal(limits.suppression_paths[1], "/abs.supp");
    assert_int_equal(limits.heap_count, 2);
    assert_string_equal(limits.heaps[0], "pool,gpu*");
    assert_string_equal(limits.heaps[1], "lost pool");
    assert_true(limits.is_strict);
    assert_int_equal(hs_limits_are_whole(&limits, &error), 0);

    /* The command line overrides the file. */
    assert_int_equal(hs_limits_set(&limits, "max-growth", "10M", &error), 0);
    assert_true(!limits.by[HS_LIMIT_GROWTH].is_share);
    assert_true(limits.by[HS_LIMIT_GROWTH].value == 10 << 20);
    assert_int_equal(hs_limits_set(&limits, "against", "other", &error), 0);
    assert_string_equal(limits.against, "other");
    hs_limits_deinit(&limits);
}

static void test_wrong_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned line;
        const char *words;
    } rows[] = {
        { "max-live 1\nmax-lvie 200M\n", 2, "'max-lvie' is not a limit; did you mean 'max-live'?" },
        { "something 1\n", 1, "'something' is not a limit" },
        { "--max-live 1\n", 1, "'--max-live': write the name without dashes" },
        { "max-live\n", 1, "'' is not a size, such as 64K or 200M" },
        { "max-peak 10 M\n", 1, "'10 M' is not a size, such as 64K or 200M" },
        { "max-allocs 1K\n", 1, "'1K' is not a number" },
        { "max-growth 5x%\n", 1, "'5x%' is neither a share, such as 5%, nor a size, such as 10M" },
        { "max-growth -5%\n", 1, "'-5%' is neither a share, such as 5%, nor a size, such as 10M" },
        { "max-growth nan%\n", 1,
          "'nan%' is neither a share, such as 5%, nor a size, such as 10M" },
        { "stack foo\n", 1, "'foo' is not REGEX=SIZE, such as parse.*=10M" },
        { "stack =10M\n", 1, "'=10M' is not REGEX=SIZE, such as parse.*=10M" },
        { "\nagainst\n", 2, "'against' needs the name of a file" },
        { "heap\n", 1, "'heap' needs the name of a heap" },
        { "hepa x\n", 1, "'hepa' is not a limit; did you mean 'heap'?" },
        { "strict yes\n", 1, "'strict' takes no value" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hs_limits limits = { 0 };
        struct hs_text_error error;
        assert_int_equal(parse(&limits, rows[i].text, &error), -EINVAL);
        assert_string_equal(error.text, rows[i].words);
        assert_int_equal(error.line, rows[i].line);
        hs_limits_deinit(&limits);
    }
    struct hs_limits limits = { 0 };
    struct hs_text_error error;
    assert_int_equal(parse(&limits, "stack (=1\n", &error), -EINVAL);
    assert_non_null(strstr(error.text, "'(' is not a regular expression: "));
    assert_int_equal(hs_limits_parse(&limits, "f", "strict\0\n", 8, &error), -EINVAL);
    hs_limits_deinit(&limits);
}

static void test_what_belongs_together(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {
        { "", "no limit was given" },
        { "strict", "no limit was given" },
        { "heap pool", "no limit was given" },
        { "max-growth 1", "belong together" },
        { "max-live 1\nagainst x", "belong together" },
        { "max-live 1\nsuppressions x", "belongs to --max-leak" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hs_limits limits = { 0 };
        struct hs_text_error error;
        assert_int_equal(parse(&limits, rows[i].text, &error), 0);
        assert_int_equal(hs_limits_are_whole(&limits, &error), -EINVAL);
        assert_non_null(strstr(error.text, rows[i].words));
        hs_limits_deinit(&limits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_wrong_lines),
        cmocka_unit_test(test_what_belongs_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
