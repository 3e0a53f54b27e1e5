/*
 * check/suppressions: the syntax, and which stacks patterns match. The rows were taken from
 * LeakSanitizer's own matcher (compiler-rt 14), which was also compared on random patterns.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "check/suppressions.h"

static void test_patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool fits;
    } rows[] = {
        { "foo", "foo", true },
        { "foo", "xfoox", true },
        { "foo", "fo", false },
        { "^foo", "foox", true },
        { "^foo", "xfoo", false },
        { "foo$", "xfoo", true },
        { "foo$", "foox", false },
        { "^foo$", "foo", true },
        { "f*o", "xfabcox", true },
        { "^f*o$", "fo", true },
        { "^*o$", "xo", true },
        { "foo*$", "foobar", true },
        { "*", "x", true },
        { "*", "", false },
        { "^", "x", true },
        { "$", "x", false },
        { "a^b", "xa^b", true },
        /* Each part is searched at its first place only. */
        { "ab$", "abab", false },
        { "*ab$", "abab", false },
        /* Text behind a $ is ignored. */
        { "ab$c", "xab", true },
        { "ab$c", "xabc", false },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (hs_suppression_fits(rows[i].pattern, rows[i].text) != rows[i].fits) {
            fail_msg("'%s' on '%s'", rows[i].pattern, rows[i].text);
        }
    }
}

static int parse(struct hs_suppressions *s, const char *text, struct hs_text_error *error)
{
    return hs_suppressions_parse(s, "file", text, strlen(text), error);
}

static void test_lines(void **state)
{
    (void)state;
    struct hs_suppressions s = { 0 };
    struct hs_text_error error;
    assert_int_equal(parse(&s,
                           "# a remark\n\n  leak:one  \r\nrace:^foo\nvptr:bar\n\tleak:two:three\n"
                           "leak:one\nleak: four",
                           &error),
                     0);
    assert_int_equal(s.count, 3);
    assert_string_equal(s.items[0].pattern, "one");
    assert_int_equal(s.items[0].line, 3);
    assert_string_equal(s.items[1].pattern, "two:three");
    assert_string_equal(s.items[2].pattern, " four");
    assert_int_equal(s.items[2].line, 8);
    assert_int_equal(s.ignored_count, 2);
    hs_suppressions_deinit(&s);
}

static void test_wrong_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned line;
        const char *words;
    } rows[] = {
        { "leak:a\nleek:b\n", 2, "'leek:b' is not a suppression, such as leak:PATTERN" },
        { "\n\nfoo", 3, "'foo' is not a suppression, such as leak:PATTERN" },
        { "leak: \t\n", 1, "the pattern is missing; leak:* suppresses everything" },
        { ":x\n", 1, "':x' is not a suppression, such as leak:PATTERN" },
        { "a\033b\n", 1, "'a?b' is not a suppression, such as leak:PATTERN" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hs_suppressions s = { 0 };
        struct hs_text_error error;
        assert_int_equal(parse(&s, rows[i].text, &error), -EINVAL);
        assert_int_equal(error.line, rows[i].line);
        assert_string_equal(error.text, rows[i].words);
        hs_suppressions_deinit(&s);
    }
    struct hs_suppressions s = { 0 };
    struct hs_text_error error;
    assert_int_equal(hs_suppressions_parse(&s, "file", "leak:a\0b", 8, &error), -EINVAL);
    hs_suppressions_deinit(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_wrong_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
