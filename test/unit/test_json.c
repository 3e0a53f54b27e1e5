/*
 * json.h: commas, indentation, escapes, numbers, and the limit of nesting.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/buf.h"
#include "util/json.h"

static void write_sample(struct hs_buf *buf, int indent_width)
{
    struct hs_json json;
    hs_json_init(&json, buf, indent_width);
    hs_json_open(&json, '{');
    hs_json_kv_string(&json, "name", "a \"b\"\\\n\x01\xff\xc3\xa4");
    hs_json_key(&json, "list");
    hs_json_open_inline(&json, '[');
    hs_json_uint(&json, UINT64_MAX);
    hs_json_int(&json, INT64_MIN);
    hs_json_double(&json, 0.1);
    hs_json_double(&json, 3);
    hs_json_double(&json, -0.0);
    hs_json_double(&json, NAN);
    hs_json_close(&json, ']');
    hs_json_key(&json, "empty");
    hs_json_open(&json, '{');
    hs_json_close(&json, '}');
    hs_json_kv_bool(&json, "yes", true);
    hs_json_close(&json, '}');
}

static void one_line(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    write_sample(&buf, 0);
    assert_string_equal(hs_buf_text(&buf),
                        "{\"name\":\"a \\\"b\\\"\\\\\\u000a\\u0001\\ufffd\xc3\xa4\","
                        "\"list\":[18446744073709551615,-9223372036854775808,0.1,3,0,null],"
                        "\"empty\":{},\"yes\":true}\n");
    hs_buf_deinit(&buf);
}

static void indented(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    write_sample(&buf, 2);
    assert_string_equal(
        hs_buf_text(&buf),
        "{\n  \"name\": \"a \\\"b\\\"\\\\\\u000a\\u0001\\ufffd\xc3\xa4\",\n"
        "  \"list\": [18446744073709551615, -9223372036854775808, 0.1, 3, 0, null],\n"
        "  \"empty\": {},\n  \"yes\": true\n}\n");
    hs_buf_deinit(&buf);
}

static void too_deep_is_an_error(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_json json;
    hs_json_init(&json, &buf, 0);
    for (int i = 0; i < HS_JSON_DEPTH + 5; i++) {
        hs_json_open(&json, '[');
    }
    assert_int_equal(hs_buf_finish(&buf), -EOVERFLOW);
    hs_buf_deinit(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_line),
        cmocka_unit_test(indented),
        cmocka_unit_test(too_deep_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
