/*
 * The JSON reader: values of all kinds, order, escapes, damage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "rt/base.h"
#include "util/buf.h"
#include "util/json_read.h"

static struct hs_buf scratch;

static struct hs_json_reader reader_of(const char *text)
{
    return (struct hs_json_reader){ .at = text, .end = text + strlen(text), .scratch = &scratch };
}

static void objects_and_arrays(void **state)
{
    (void)state;
    struct hs_json_reader r =
        reader_of(" { \"a\" : [1, -2.5e3,{} ,[]],\"b\":{\"c\":\"}]\\\"\"}, \"d\": true, \"e\":7}");
    struct hs_json_text key;
    double number = 0, sum = 0;
    assert_true(hs_json_enter(&r, '{'));
    assert_true(hs_json_next_key(&r, &key) && hs_json_text_is(&key, "a"));
    struct hs_json_reader again = r;
    for (int i = 0; i < 2; i++) {
        r = again; /* a value can be read twice */
        int count = 0, numbers = 0;
        assert_true(hs_json_enter(&r, '['));
        for (sum = 0; hs_json_next_element(&r); count++) {
            if (hs_json_read_number(&r, &number)) {
                sum += number;
                numbers++;
            }
        }
        assert_int_equal(count, 4);
        assert_int_equal(numbers, 2);
        assert_true(sum == -2499);
    }
    assert_true(hs_json_next_key(&r, &key) && hs_json_text_is(&key, "b"));
    hs_json_skip(&r);
    assert_true(hs_json_next_key(&r, &key) && hs_json_text_is(&key, "d"));
    assert_false(hs_json_enter(&r, '{')); /* skipped */
    assert_true(hs_json_next_key(&r, &key) && hs_json_text_is(&key, "e"));
    assert_true(hs_json_read_number(&r, &number) && number == 7);
    assert_false(hs_json_next_key(&r, &key));
    assert_false(r.is_bad);
}

static void strings(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "\"\"", "" },
        { "\"plain \xC3\xA4\"", "plain \xC3\xA4" },
        { "\"\\n\\t\\\\\\/\\\"\"", "\n\t\\/\"" },
        { "\"\\u0041\\u00e4\\u20AC\"", "A\xC3\xA4\xE2\x82\xAC" },
        { "\"\\ud83d\\ude00\"", "\xF0\x9F\x98\x80" },
        { "\"\\ud83dx\"", "\xEF\xBF\xBDx" },
        { "\"\\uZZ\"", "\xEF\xBF\xBDZZ" },
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        struct hs_json_reader r = reader_of(cases[i][0]);
        struct hs_json_text text;
        assert_true(hs_json_read_text(&r, &text));
        assert_true(hs_json_text_is(&text, cases[i][1]));
        assert_ptr_equal(r.at, r.end);
    }
}

static void damage_ends_loops(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_cut;
    } cases[] = {
        { "[1", true },   { "[1,", true },    { "[\"a", true }, { "[\"a\\", true },
        { "[[[", true },  { "[1 2]", false }, { "[,]", false }, { "[1,]", false },
        { "[1}", false }, { "[?]", false },   { "[", true },    { "[{\"a\":", true },
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        struct hs_json_reader r = reader_of(cases[i].text);
        assert_true(hs_json_enter(&r, '['));
        while (hs_json_next_element(&r)) {
            hs_json_skip(&r);
        }
        assert_true(r.is_bad);
        assert_int_equal(r.is_cut, cases[i].is_cut);
    }
    static const char *const objects[] = { "{\"a\" 1}", "{1:2}", "{\"a\":1,}", "{\"a\"" };
    for (size_t i = 0; i < HS_COUNT_OF(objects); i++) {
        struct hs_json_reader r = reader_of(objects[i]);
        struct hs_json_text key;
        assert_true(hs_json_enter(&r, '{'));
        while (hs_json_next_key(&r, &key)) {
            hs_json_skip(&r);
        }
        assert_true(r.is_bad);
    }
}

static void numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_good;
        double value;
    } cases[] = {
        { "0", true, 0 },
        { "123456789012345678", true, 123456789012345678.0 },
        { "-1", true, -1 },
        { "1.25", true, 1.25 },
        { "1e400", true, 1e308 * 10 },
        { "1.2.3", false, 0 },
        { "\"1\"", false, 0 },
        { "null", false, 0 },
        { "nan", false, 0 },
        { "-x", false, 0 },
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        struct hs_json_reader r = reader_of(cases[i].text);
        double number = 0;
        assert_int_equal(hs_json_read_number(&r, &number), cases[i].is_good);
        assert_true(!cases[i].is_good || number == cases[i].value);
        assert_ptr_equal(r.at, r.end);
        assert_false(r.is_bad);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_and_arrays),
        cmocka_unit_test(strings),
        cmocka_unit_test(damage_ends_loops),
        cmocka_unit_test(numbers),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    hs_buf_deinit(&scratch);
    return failed;
}
