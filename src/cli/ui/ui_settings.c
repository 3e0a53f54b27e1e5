/*
 * Settings as options: see ui_settings.h.
 */
#include "cli/ui/ui_settings.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/http_request.h"
#include "rt/base.h"
#include "rt/text.h"
#include "util/json_read.h"
#include "util/shell_word.h"

enum kind {
    FLAG,
    VALUE, /* the last one counts */
    LIST,  /* may be given more than once */
};

static const struct {
    const char *name;
    enum kind kind;
} known[] = {
    { "pid", LIST },           { "name", LIST },          { "all", FLAG },
    { "min-memory", VALUE },   { "interval", VALUE },     { "heaps", LIST },
    { "all-heaps", FLAG },     { "exclude-heaps", LIST }, { "lifetimes", FLAG },
    { "native-only", FLAG },   { "duration", VALUE },     { "dump-every", VALUE },
    { "dump-phase", VALUE },   { "dump-at-max", FLAG },   { "dump-above", VALUE },
    { "children", FLAG },      { "no-running", FLAG },    { "no-startup", FLAG },
    { "blocks", FLAG },        { "no-symbolize", FLAG },  { "counters", VALUE },
    { "smaps", FLAG },         { "no-types", FLAG },      { "system-stats", VALUE },
    { "max-overhead", VALUE }, { "max-memory", VALUE },   { "max-cpu-secs", VALUE },
    { "session", VALUE },      { "no-follow", FLAG },
};

static int fail(struct hs_ui_settings *settings, const char *format, ...) HS_PRINTF(2, 3);

static int fail(struct hs_ui_settings *settings, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(settings->error, sizeof(settings->error), format, args);
    va_end(args);
    return -EINVAL;
}

/* --- one setting ------------------------------------------------------------------------------ */

static int find(const char *name, size_t bytes)
{
    for (size_t i = 0; i < HS_COUNT_OF(known); i++) {
        if (strlen(known[i].name) == bytes && memcmp(known[i].name, name, bytes) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static bool is_plain(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) {
            return false;
        }
    }
    return bytes > 0 && bytes <= HS_UI_SETTING_BYTES_MAX;
}

static int add_option(struct hs_ui_settings *settings, int which, const char *value, size_t bytes)
{
    char *option = NULL;
    const char *name = known[which].name;
    if (settings->count == HS_UI_SETTINGS_MAX) {
        return fail(settings, "too many settings");
    }
    int n = value ? asprintf(&option, "--%s=%.*s", name, (int)bytes, value)
                  : asprintf(&option, "--%s", name);
    if (n < 0) {
        return -ENOMEM;
    }
    settings->options[settings->count++] = option;
    settings->has_blocks |= strcmp(name, "blocks") == 0;
    settings->has_children |= strcmp(name, "children") == 0;
    settings->is_not_following |= strcmp(name, "no-follow") == 0;
    settings->is_nameless |= strcmp(name, "no-symbolize") == 0;
    return 0;
}

static int add_value(struct hs_ui_settings *settings, int which, const char *text, size_t bytes)
{
    return is_plain(text, bytes)
               ? add_option(settings, which, text, bytes)
               : fail(settings, "%s: the value is empty, too long, or has control characters",
                      known[which].name);
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* A number as the options take it: a whole one, without an exponent. */
static int add_number(struct hs_ui_settings *settings, int which, double number)
{
    char text[32];
    if (!(number >= 0 && number <= 9007199254740992.0) || number != floor(number)) {
        return fail(settings, "%s: not a whole number", known[which].name);
    }
    snprintf(text, sizeof(text), "%" PRIu64, (uint64_t)number);
    return add_value(settings, which, text, strlen(text));
}

static int read_value(struct hs_ui_settings *settings, int which, struct hs_json_reader *reader)
{
    struct hs_json_text text;
    double number;
    char kind = hs_json_peek(reader);
    if (kind == '"' && hs_json_read_text(reader, &text)) {
        return add_value(settings, which, text.text, text.bytes);
    }
    if (kind == '0' && hs_json_read_number(reader, &number)) {
        return add_number(settings, which, number);
    }
    return fail(settings, "%s: not a text or a number", known[which].name);
}

static int read_list(struct hs_ui_settings *settings, int which, struct hs_json_reader *reader)
{
    int r = 0;
    if (hs_json_peek(reader) != '[') {
        return read_value(settings, which, reader);
    }
    hs_json_enter(reader, '[');
    while (r == 0 && hs_json_next_element(reader)) {
        r = read_value(settings, which, reader);
    }
    return r;
}

static int read_flag(struct hs_ui_settings *settings, int which, struct hs_json_reader *reader)
{
    char kind = hs_json_peek(reader);
    hs_json_skip(reader);
    if (kind == 't') {
        return add_option(settings, which, NULL, 0);
    }
    return kind == 'f' ? 0 : fail(settings, "%s: not true or false", known[which].name);
}

static int read_setting(struct hs_ui_settings *settings, const struct hs_json_text *key,
                        struct hs_json_reader *reader)
{
    int which = find(key->text, key->bytes);
    if (which < 0) {
        return fail(settings, "'%.*s' is not a setting", (int)(key->bytes < 64 ? key->bytes : 64),
                    key->text);
    }
    switch (known[which].kind) {
    case FLAG:
        return read_flag(settings, which, reader);
    case LIST:
        return read_list(settings, which, reader);
    case VALUE:
        return read_value(settings, which, reader);
    }
    return -EINVAL;
}

int hs_ui_settings_read_json(struct hs_ui_settings *settings, const char *text, size_t bytes)
{
    struct hs_json_reader reader;
    struct hs_json_text key;
    int r = 0;
    hs_json_begin(&reader, text, text + bytes);
    if (hs_json_peek(&reader) != '{' || !hs_json_enter(&reader, '{')) {
        r = fail(settings, "the settings are not a JSON object");
    }
    while (r == 0 && hs_json_next_key(&reader, &key)) {
        r = read_setting(settings, &key, &reader);
    }
    if (r == 0 && reader.is_bad) {
        r = fail(settings, "the settings are not valid JSON");
    }
    hs_json_end(&reader);
    return r;
}

/* --- arguments of an address ------------------------------------------------------------------ */

static int take_argument(struct hs_ui_settings *settings, const struct hs_http_argument *argument)
{
    int which = find(argument->name, strlen(argument->name));
    if (which < 0) {
        return fail(settings, "'%.64s' is not a setting", argument->name);
    }
    if (known[which].kind != FLAG) {
        return add_value(settings, which, argument->value, strlen(argument->value));
    }
    bool is_true = strcmp(argument->value, "true") == 0;
    if (!is_true && strcmp(argument->value, "false") != 0) {
        return fail(settings, "%s: not true or false", known[which].name);
    }
    return is_true ? add_option(settings, which, NULL, 0) : 0;
}

int hs_ui_settings_read_arguments(struct hs_ui_settings *settings,
                                  const struct hs_http_request *request)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < request->argument_count; i++) {
        if (strcmp(request->arguments[i].name, "token") != 0) {
            r = take_argument(settings, &request->arguments[i]);
        }
    }
    return r;
}

void hs_ui_settings_deinit(struct hs_ui_settings *settings)
{
    for (size_t i = 0; i < settings->count; i++) {
        free(settings->options[i]);
    }
    settings->count = 0;
}

/* --- command lines ---------------------------------------------------------------------------- */

char **hs_ui_settings_line(const struct hs_ui_settings *settings, const char *command,
                           const char *extra_option, int *ret_count)
{
    char **line = calloc(settings->count + HS_UI_SETTINGS_HEAD_MAX, sizeof(line[0]));
    int count = 0;
    bool is_whole = line != NULL;
    const char *head[] = { command, extra_option };
    for (size_t i = 0; is_whole && i < HS_COUNT_OF(head); i++) {
        if (head[i]) {
            line[count] = strdup(head[i]);
            is_whole = line[count++] != NULL;
        }
    }
    for (size_t i = 0; is_whole && i < settings->count; i++) {
        if (strcmp(settings->options[i], "--no-follow") != 0) {
            line[count] = strdup(settings->options[i]);
            is_whole = line[count++] != NULL;
        }
    }
    *ret_count = count;
    if (!is_whole) {
        hs_ui_settings_free_line(line, count);
        return NULL;
    }
    return line;
}

void hs_ui_settings_free_line(char **line, int count)
{
    for (int i = 0; line && i < count; i++) {
        free(line[i]);
    }
    free(line);
}

void hs_ui_settings_write_command(const struct hs_ui_settings *settings, bool is_attach,
                                  struct hs_buf *out)
{
    static const char pid[] = "--pid=";
    char word[4 * HS_UI_SETTING_BYTES_MAX + 64];
    hs_buf_str(out, is_attach ? "heapscope attach" : "heapscope start");
    for (size_t i = 0; i < settings->count; i++) {
        const char *option = settings->options[i];
        bool is_operand = is_attach && hs_text_starts_with(option, pid);
        /* A word that begins with dashes would be taken for a file of such a name. */
        const char *rest = option + (is_operand ? sizeof(pid) - 1 : 2);
        hs_buf_printf(out, " %s%s", is_operand ? "" : "--",
                      hs_shell_word(rest, word, sizeof(word)));
    }
}
