/* util/xml: no text can break out of its element. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/buf.h"
#include "util/xml.h"

static void assert_written(void (*write)(struct hs_buf *, const char *, size_t), const char *text,
                           size_t bytes, const char *expected)
{
    struct hs_buf buf = HS_BUF_INIT;
    write(&buf, text, bytes);
    assert_string_equal(hs_buf_text(&buf), expected);
    hs_buf_deinit(&buf);
}

static void test_escapes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } rows[] = {
        { "", "" },
        { "plain", "plain" },
        { "a<b>&\"c'", "a&lt;b&gt;&amp;&quot;c&#39;" },
        { "]]>", "]]&gt;" },
        { "gr\xC3\xBC\xC3\x9F", "gr\xC3\xBC\xC3\x9F" },
        { "x\x1By\nz\x7F", "x\xEF\xBF\xBDy\xEF\xBF\xBDz\xEF\xBF\xBD" },
        { "bad \xFF\xC3<", "bad \xEF\xBF\xBD\xEF\xBF\xBD&lt;" },
        { "\xEF\xBF\xBE\xEF\xBF\xBF", "\xEF\xBF\xBD\xEF\xBF\xBD" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_written(hs_xml_write, rows[i].text, strlen(rows[i].text), rows[i].expected);
    }
    assert_written(hs_xml_write, "a\0b", 3,
                   "a\xEF\xBF\xBD"
                   "b");
}

static void test_lines(void **state)
{
    (void)state;
    assert_written(hs_xml_write_lines, "a<\n\nb\r\n", 7, "a&lt;\n\nb\xEF\xBF\xBD\n");
    assert_written(hs_xml_write_lines, "", 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
