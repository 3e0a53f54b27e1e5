/* The nearest known word: distances computed by hand, and cases without a suggestion. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rt/base.h"
#include "util/suggest.h"

static void test_distances(void **state)
{
    (void)state;
    assert_int_equal(hs_suggest_distance("", ""), 0);
    assert_int_equal(hs_suggest_distance("run", ""), 3);
    assert_int_equal(hs_suggest_distance("", "run"), 3);
    assert_int_equal(hs_suggest_distance("report", "report"), 0);
    assert_int_equal(hs_suggest_distance("reprot", "report"), 1); /* swapped */
    assert_int_equal(hs_suggest_distance("repport", "report"), 1);
    assert_int_equal(hs_suggest_distance("rport", "report"), 1);
    assert_int_equal(hs_suggest_distance("kitten", "sitting"), 3);
}

static void test_long_words_are_cut(void **state)
{
    (void)state;
    char a[200], b[200];
    memset(a, 'a', sizeof(a));
    memset(b, 'b', sizeof(b));
    a[199] = b[199] = '\0';
    assert_int_equal(hs_suggest_distance(a, b), 63);
}

static void test_nearest(void **state)
{
    (void)state;
    static const char *const words[] = { "run", "report", "export" };
    assert_string_equal(hs_suggest_nearest("rnu", words, HS_COUNT_OF(words)), "run");
    assert_string_equal(hs_suggest_nearest("raport", words, HS_COUNT_OF(words)), "report");
    assert_string_equal(hs_suggest_nearest("exprot", words, HS_COUNT_OF(words)), "export");
    assert_null(hs_suggest_nearest("ls", words, HS_COUNT_OF(words)));
    assert_null(hs_suggest_nearest("", words, HS_COUNT_OF(words)));
    assert_null(hs_suggest_nearest("run", words, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_long_words_are_cut),
        cmocka_unit_test(test_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
