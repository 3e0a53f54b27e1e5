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

static void begin(struct hs_json_reader *reader, const char *text)
{
    hs_json_begin(reader, text, text + strlen(text));
}

static void objects_and_arrays(void **state)
{
    (void)state;
    const char *text =
        " { \"a\" : [1, -2.5e3,{} ,[]],\"b\":{\"c\":\"}]\\\"\"}, \"d\": true, \"e\":7}";
    struct hs_json_reader r, again;
    begin(&r, text);
    struct hs_json_text key;
    double number = 0, sum = 0;
    assert_true(hs_json_enter(&r, '{'));
    assert_true(hs_json_next_key(&r, &key) && hs_json_text_is(&key, "a"));
    const char *place = hs_json_place(&r);
    for (int i = 0; i < 2; i++) {
        int count = 0, numbers = 0;
        begin(&again, place); /* a value can be read twice */
        assert_true(hs_json_enter(&again, '['));
        for (sum = 0; hs_json_next_element(&again); count++) {
            if (hs_json_read_number(&again, &number)) {
                sum += number;
                numbers++;
            }
        }
        assert_false(again.is_bad);
        hs_json_end(&again);
        assert_int_equal(count, 4);
        assert_int_equal(numbers, 2);
        assert_true(sum == -2499);
    }
    hs_json_skip(&r);
    assert_true(hs_json_next_key(&r, &key) && hs_json_text_is(&key, "b"));
    hs_json_skip(&r);
    assert_true(hs_json_next_key(&r, &key) && hs_json_text_is(&key, "d"));
    assert_false(hs_json_enter(&r, '{')); /* skipped */
    assert_true(hs_json_next_key(&r, &key) && hs_json_text_is(&key, "e"));
    assert_true(hs_json_read_number(&r, &number) && number == 7);
    assert_false(hs_json_next_key(&r, &key));
    assert_false(r.is_bad);
    hs_json_end(&r);
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
        { "\"\\ud83dx\"", "?x" },
        { "\"not UTF-8: \xFF\"", "not UTF-8: \xFF" },
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        struct hs_json_reader r;
        struct hs_json_text text;
        begin(&r, cases[i][0]);
        assert_true(hs_json_read_text(&r, &text));
        assert_true(hs_json_text_is(&text, cases[i][1]));
        assert_ptr_equal(hs_json_place(&r), r.end);
        hs_json_end(&r);
    }
}

static void damage_ends_loops(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_cut;
    } cases[] = {
        { "[1", true },           { "[1,", true },    { "[\"a", true }, { "[\"a\\", true },
        { "[[[", true },          { "[1 2]", false }, { "[,]", false }, { "[1,]", false },
        { "[1}", false },         { "[?]", false },   { "[", true },    { "[{\"a\":", true },
        { "[\"\\uZZ\"]", false },
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        struct hs_json_reader r;
        begin(&r, cases[i].text);
        assert_true(hs_json_enter(&r, '['));
        while (hs_json_next_element(&r)) {
            hs_json_skip(&r);
        }
        assert_true(r.is_bad);
        assert_int_equal(r.is_cut, cases[i].is_cut);
        hs_json_end(&r);
    }
    static const char *const objects[] = { "{\"a\" 1}", "{1:2}", "{\"a\":1,}", "{\"a\"" };
    for (size_t i = 0; i < HS_COUNT_OF(objects); i++) {
        struct hs_json_reader r;
        struct hs_json_text key;
        begin(&r, objects[i]);
        assert_true(hs_json_enter(&r, '{'));
        while (hs_json_next_key(&r, &key)) {
            hs_json_skip(&r);
        }
        assert_true(r.is_bad);
        hs_json_end(&r);
    }
}

/* Strings, keys and numbers that lie in several pieces of the text, of every length around them. */
static void long_values(void **state)
{
    (void)state;
    struct hs_buf text = HS_BUF_INIT;
    for (size_t bytes = 1; bytes < 12000; bytes += 1 + bytes / 7) {
        struct hs_json_reader r;
        struct hs_json_text key, value, escaped;
        double number = 0;
        hs_buf_clear(&text);
        hs_buf_str(&text, "{\"");
        hs_buf_repeat(&text, 'k', bytes);
        hs_buf_str(&text, "\":[\"");
        hs_buf_repeat(&text, 'v', bytes);
        hs_buf_str(&text, "\", 123456, \"\\n");
        hs_buf_repeat(&text, 'w', bytes);
        hs_buf_str(&text, "\"]}");
        begin(&r, hs_buf_text(&text));
        assert_true(hs_json_enter(&r, '{') && hs_json_next_key(&r, &key));
        assert_true(key.bytes == bytes && key.text[0] == 'k' && key.text[bytes - 1] == 'k');
        assert_true(hs_json_enter(&r, '[') && hs_json_next_element(&r));
        assert_true(hs_json_read_text(&r, &value));
        assert_true(value.bytes == bytes && value.text[0] == 'v' && value.text[bytes - 1] == 'v');
        assert_true(hs_json_next_element(&r) && hs_json_read_number(&r, &number));
        assert_true(number == 123456);
        assert_true(hs_json_next_element(&r) && hs_json_read_text(&r, &escaped));
        assert_true(escaped.bytes == bytes + 1 && escaped.text[0] == '\n');
        assert_true(escaped.text[bytes] == 'w');
        assert_false(hs_json_next_element(&r) || hs_json_next_key(&r, &key) || r.is_bad);
        hs_json_end(&r);
    }
    hs_buf_deinit(&text);
}

static void depth_is_bounded(void **state)
{
    (void)state;
    struct hs_buf text = HS_BUF_INIT;
    for (size_t depth = HS_JSON_DEPTH_MAX - 1; depth <= HS_JSON_DEPTH_MAX + 1; depth++) {
        struct hs_json_reader r;
        hs_buf_clear(&text);
        hs_buf_repeat(&text, '[', depth);
        hs_buf_repeat(&text, ']', depth);
        begin(&r, hs_buf_text(&text));
        hs_json_skip(&r);
        assert_int_equal(r.is_bad, depth > HS_JSON_DEPTH_MAX);
        assert_false(r.is_cut);
        hs_json_end(&r);
    }
    hs_buf_deinit(&text);
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
        { "-0.5E-1", true, -0.05 },
        { "\"1\"", false, 0 },
        { "null", false, 0 },
        { "true", false, 0 },
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        struct hs_json_reader r;
        double number = 0;
        begin(&r, cases[i].text);
        assert_int_equal(hs_json_read_number(&r, &number), cases[i].is_good);
        assert_true(!cases[i].is_good || number == cases[i].value);
        assert_ptr_equal(hs_json_place(&r), r.end);
        assert_false(r.is_bad);
        hs_json_end(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_and_arrays), cmocka_unit_test(strings),
        cmocka_unit_test(damage_ends_loops),  cmocka_unit_test(numbers),
        cmocka_unit_test(long_values),        cmocka_unit_test(depth_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
