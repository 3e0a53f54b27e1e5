/* utf8.h: cutting between characters, counting columns, and sanitizing hostile names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/buf.h"
#include "util/utf8.h"

#define BAD "\xEF\xBF\xBD"

static void check_write(const char *text, const char *want)
{
    struct hs_buf buf = HS_BUF_INIT;
    hs_utf8_write(&buf, text, strlen(text));
    assert_string_equal(hs_buf_text(&buf), want);
    hs_buf_deinit(&buf);
}

static void writes_what_is_harmless(void **state)
{
    (void)state;
    check_write("", "");
    check_write("std::vector<Grüße>", "std::vector<Grüße>");
    check_write("a\x1b[31mb\n\x7f", "a" BAD "[31mb" BAD BAD);
    check_write("\xff\xc3", BAD BAD);
    check_write("a\xc0\xaf", "a" BAD BAD);            /* overlong '/' */
    check_write("\xed\xa0\x80", BAD BAD BAD);         /* half a surrogate pair */
    check_write("\xf4\x90\x80\x80", BAD BAD BAD BAD); /* above U+10FFFF */
    check_write("x\xe2\x80\xaey", "x" BAD "y");       /* right-to-left override */
    check_write("x\xc2\x9by", "x" BAD "y");           /* C1 control: another escape */
    check_write(BAD "日本", BAD "日本");
}

static void cleans_within_its_room(void **state)
{
    (void)state;
    char out[8];
    assert_int_equal(hs_utf8_clean("a\tb\x1b", 4, out, sizeof(out)), 6);
    assert_memory_equal(out, "a\tb" BAD, 6);
    assert_int_equal(hs_utf8_clean("日本語", 9, out, sizeof(out)), 6);
    assert_memory_equal(out, "日本", 6);
    assert_int_equal(hs_utf8_clean("\xff\xff\xff", 3, out, sizeof(out)), 6);
    assert_int_equal(hs_utf8_clean("", 0, out, 0), 0);
}

static void counts_columns(void **state)
{
    (void)state;
    assert_int_equal(hs_utf8_columns("abc", 3), 3);
    assert_int_equal(hs_utf8_columns("日本", 6), 4);
    assert_int_equal(hs_utf8_columns("e\xcc\x81", 3), 1);
    assert_int_equal(hs_utf8_columns("\x1b\xff", 2), 2);
}

static void cuts_between_characters(void **state)
{
    (void)state;
    const char *text = "aä日z"; /* 1 + 2 + 3 + 1 bytes, 1 + 1 + 2 + 1 columns */
    assert_int_equal(hs_utf8_fit(text, 7, 0), 0);
    assert_int_equal(hs_utf8_fit(text, 7, 1), 1);
    assert_int_equal(hs_utf8_fit(text, 7, 2), 3);
    assert_int_equal(hs_utf8_fit(text, 7, 3), 3);
    assert_int_equal(hs_utf8_fit(text, 7, 4), 6);
    assert_int_equal(hs_utf8_fit(text, 7, 99), 7);
    assert_int_equal(hs_utf8_fit_end(text, 7, 0), 7);
    assert_int_equal(hs_utf8_fit_end(text, 7, 2), 6);
    assert_int_equal(hs_utf8_fit_end(text, 7, 3), 3);
    assert_int_equal(hs_utf8_fit_end(text, 7, 5), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_what_is_harmless),
        cmocka_unit_test(cleans_within_its_room),
        cmocka_unit_test(counts_columns),
        cmocka_unit_test(cuts_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
