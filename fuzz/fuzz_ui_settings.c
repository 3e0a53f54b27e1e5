/*
 * Fuzz target: any bytes as the settings of a recording that the page sends, and as what it asks of
 * one that runs.
 *
 * Whatever is accepted consists of known options with values of one line, none of which names a
 * file. The first byte chooses between JSON and the arguments of an address.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cli/ui/ui_asked.h"
#include "cli/ui/ui_settings.h"
#include "http/http_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_options(const struct hs_ui_settings *settings)
{
    struct hs_buf command = HS_BUF_INIT;
    for (size_t i = 0; i < settings->count; i++) {
        const char *option = settings->options[i];
        check(strncmp(option, "--", 2) == 0 && option[2] >= 'a' && option[2] <= 'z');
        check(strncmp(option, "--output", 8) != 0);
        size_t name_bytes = strspn(option + 2, "abcdefghijklmnopqrstuvwxyz-");
        check(option[2 + name_bytes] == '\0' || option[2 + name_bytes] == '=');
        check(!strpbrk(option, "\n\r\t"));
    }
    hs_ui_settings_write_command(settings, false, &command);
    check(command.err == 0);
    hs_buf_deinit(&command);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hs_http_request request;
    struct hs_ui_settings settings = { .count = 0 };
    char *text = malloc(size + 1);
    check(text != NULL);
    if (size) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    int r = -1;
    if (text[0] != '/') {
        r = hs_ui_settings_read_json(&settings, text, size);
    } else if (hs_http_request_take_target(&request, text) == 0) {
        r = hs_ui_settings_read_arguments(&settings, &request);
    }
    check_options(&settings);
    if (r == 0) {
        int count = 0;
        char **line = hs_ui_settings_line(&settings, "start", NULL, &count);
        check(line && !line[count]);
        hs_ui_settings_free_line(line, count);
    } else if (text[0] != '/') {
        check(settings.error[0] != '\0');
    }
    hs_ui_settings_deinit(&settings);
    struct hs_ui_asked asked = { .pid = -1 };
    if (hs_ui_asked_read(text, size, &asked)) {
        check(asked.pid >= 0 && (asked.session[0] == '\0' || hs_session_is_name(asked.session)));
    } else {
        check(asked.pid == -1);
    }
    free(text);
    return 0;
}
