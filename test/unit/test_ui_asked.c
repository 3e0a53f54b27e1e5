/*
 * ui_asked.h: what is taken, and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/ui/ui_asked.h"

static void taken(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct hs_ui_asked asked;
    } cases[] = {
        { "{}", { .pid = 0 } },
        { "{\"session\": \"attach.4711\"}", { .session = "attach.4711" } },
        { "{\"pid\": 2147483647}", { .pid = 2147483647 } },
        { "{\"pid\": 1, \"blocks\": true, \"moment\": false}", { .pid = 1, .with_blocks = true } },
        { "{\"moment\": true, \"pid\": 7}", { .pid = 7, .is_moment = true } },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_ui_asked asked;
        memset(&asked, 0xff, sizeof(asked));
        assert_true(hs_ui_asked_read(cases[i].text, strlen(cases[i].text), &asked));
        assert_string_equal(asked.session, cases[i].asked.session);
        assert_int_equal(asked.pid, cases[i].asked.pid);
        assert_int_equal(asked.with_blocks, cases[i].asked.with_blocks);
        assert_int_equal(asked.is_moment, cases[i].asked.is_moment);
    }
}

static void refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "[]",
        "{",
        "{\"pid\": 1",
        "{\"pid\": 0}",
        "{\"pid\": -1}",
        "{\"pid\": 1.5}",
        "{\"pid\": 2147483648}",
        "{\"pid\": 1e999}",
        "{\"pid\": \"1\"}",
        "{\"session\": \"\"}",
        "{\"session\": \"-o\"}",
        "{\"session\": \"../x\"}",
        "{\"session\": \"a b\"}",
        "{\"session\": \"a\\u0000b\"}",
        "{\"session\": 1}",
        "{\"session\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
        "{\"blocks\": 1}",
        "{\"blocks\": \"true\"}",
        "{\"moment\": null}",
        "{\"path\": \"/x\"}",
        "{\"\": 1}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct hs_ui_asked asked = { .pid = 77 };
        if (hs_ui_asked_read(texts[i], strlen(texts[i]), &asked) || asked.pid != 77) {
            fail_msg("%s", texts[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taken),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
