/*
 * ui_settings.h: settings of the page as options, and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/ui/ui_settings.h"
#include "http/http_request.h"

/* All options in one text. */
static const char *options_of(const struct hs_ui_settings *settings)
{
    static char text[4096];
    text[0] = '\0';
    for (size_t i = 0; i < settings->count; i++) {
        size_t bytes = strlen(text);
        snprintf(text + bytes, sizeof(text) - bytes, "%s%s", i ? "|" : "", settings->options[i]);
    }
    return text;
}

static void json(void **state)
{
    (void)state;
    static const struct {
        const char *text, *options; /* NULL: refused */
    } cases[] = {
        { "{}", "" },
        { "{\"pid\": [4711, 12], \"interval\": 4096}", "--pid=4711|--pid=12|--interval=4096" },
        { "{\"pid\": 1, \"name\": \"redis*\"}", "--pid=1|--name=redis*" },
        { "{\"blocks\": true, \"smaps\": false, \"children\": true}", "--blocks|--children" },
        { "{\"dump-every\": \"10s\", \"heaps\": [\"a=1\", \"b,c\"]}",
          "--dump-every=10s|--heaps=a=1|--heaps=b,c" },
        { "{\"name\": [\"-rf\", \"--output=/x\"]}", "--name=-rf|--name=--output=/x" },
        { "{\"name\": [\"\\u00e4 b\"]}", "--name=\xc3\xa4 b" },
        { "{\"interval\": 9007199254740992}", "--interval=9007199254740992" },
        { "", NULL },
        { "[]", NULL },
        { "{", NULL },
        { "{\"pid\": [1}", NULL },
        { "{\"output\": \"/etc/passwd\"}", NULL },
        { "{\"-o\": \"x\"}", NULL },
        { "{\"quiet\": true}", NULL },
        { "{\"pid \": 1}", NULL },
        { "{\"pid=1 --output\": 1}", NULL },
        { "{\"\": 1}", NULL },
        { "{\"pid\": true}", NULL },
        { "{\"pid\": null}", NULL },
        { "{\"pid\": {}}", NULL },
        { "{\"pid\": [[1]]}", NULL },
        { "{\"interval\": [1]}", NULL },
        { "{\"interval\": 1.5}", NULL },
        { "{\"interval\": -1}", NULL },
        { "{\"interval\": 1e300}", NULL },
        { "{\"interval\": \"\"}", NULL },
        { "{\"name\": \"a\\nb\"}", NULL },
        { "{\"name\": \"a\\u0000b\"}", NULL },
        { "{\"blocks\": 1}", NULL },
        { "{\"blocks\": \"true\"}", NULL },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_ui_settings settings = { .count = 0 };
        int r = hs_ui_settings_read_json(&settings, cases[i].text, strlen(cases[i].text));
        if ((r == 0) != (cases[i].options != NULL) ||
            (r == 0 && strcmp(options_of(&settings), cases[i].options) != 0)) {
            fail_msg("%s: %d, %s, %s", cases[i].text, r, options_of(&settings), settings.error);
        }
        assert_int_equal(r == 0, settings.error[0] == '\0');
        hs_ui_settings_deinit(&settings);
    }
}

static void too_many(void **state)
{
    (void)state;
    char text[8 * HS_UI_SETTINGS_MAX] = "{\"pid\":[1";
    struct hs_ui_settings settings = { .count = 0 };
    for (size_t i = 0; i < HS_UI_SETTINGS_MAX; i++) {
        strcat(text, ",1");
    }
    strcat(text, "]}");
    assert_int_not_equal(hs_ui_settings_read_json(&settings, text, strlen(text)), 0);
    assert_string_equal(settings.error, "too many settings");
    hs_ui_settings_deinit(&settings);
    char *longest = calloc(1, HS_UI_SETTING_BYTES_MAX + 64);
    size_t head = (size_t)sprintf(longest, "{\"name\":\"");
    memset(longest + head, 'x', HS_UI_SETTING_BYTES_MAX + 1);
    strcat(longest, "\"}");
    assert_int_not_equal(hs_ui_settings_read_json(&settings, longest, strlen(longest)), 0);
    hs_ui_settings_deinit(&settings);
    free(longest);
}

static void arguments(void **state)
{
    (void)state;
    static const struct {
        const char *target, *options;
    } cases[] = {
        { "/api/config", "" },
        { "/api/config?token=x&pid=1&pid=2&interval=4K&blocks=true&smaps=false",
          "--pid=1|--pid=2|--interval=4K|--blocks" },
        { "/api/config?name=a%20b", "--name=a b" },
        { "/api/config?output=x", NULL },
        { "/api/config?blocks=1", NULL },
        { "/api/config?pid=", NULL },
        { "/api/config?name=a%0ab", NULL },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static struct hs_http_request request;
        struct hs_ui_settings settings = { .count = 0 };
        assert_int_equal(hs_http_request_take_target(&request, cases[i].target), 0);
        int r = hs_ui_settings_read_arguments(&settings, &request);
        assert_int_equal(r == 0, cases[i].options != NULL);
        if (r == 0) {
            assert_string_equal(options_of(&settings), cases[i].options);
        }
        hs_ui_settings_deinit(&settings);
    }
}

static void lines(void **state)
{
    (void)state;
    static const char text[] = "{\"pid\": 7, \"name\": [\"a'b\"], \"blocks\": true, "
                               "\"children\": true, \"no-symbolize\": true}";
    struct hs_ui_settings settings = { .count = 0 };
    struct hs_buf command = HS_BUF_INIT;
    int count = 0;
    assert_int_equal(hs_ui_settings_read_json(&settings, text, sizeof(text) - 1), 0);
    assert_true(settings.has_blocks && settings.has_children && settings.is_nameless);
    char **line = hs_ui_settings_line(&settings, "start", "--output=x", &count);
    assert_int_equal(count, 7);
    assert_string_equal(line[0], "start");
    assert_string_equal(line[1], "--output=x");
    assert_string_equal(line[2], "--pid=7");
    assert_null(line[7]);
    hs_ui_settings_free_line(line, count);
    hs_ui_settings_write_command(&settings, false, &command);
    assert_string_equal(hs_buf_text(&command), "heapscope start --pid=7 --'name=a'\\''b' --blocks "
                                               "--children --no-symbolize");
    hs_buf_clear(&command);
    hs_ui_settings_write_command(&settings, true, &command);
    assert_non_null(strstr(hs_buf_text(&command), "heapscope attach 7 --"));
    hs_buf_deinit(&command);
    hs_ui_settings_deinit(&settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json),
        cmocka_unit_test(too_many),
        cmocka_unit_test(arguments),
        cmocka_unit_test(lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
