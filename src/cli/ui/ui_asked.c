/*
 * Reads what the page asks: see ui_asked.h.
 */
#include "cli/ui/ui_asked.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "util/json_read.h"

static bool take_session(struct hs_ui_asked *asked, struct hs_json_reader *reader)
{
    struct hs_json_text text;
    if (!hs_json_read_text(reader, &text) || text.bytes > HS_SESSION_NAME_MAX ||
        memchr(text.text, 0, text.bytes)) {
        return false;
    }
    memcpy(asked->session, text.text, text.bytes);
    asked->session[text.bytes] = '\0';
    return hs_session_is_name(asked->session);
}

static bool take_pid(struct hs_ui_asked *asked, struct hs_json_reader *reader)
{
    double number;
    if (!hs_json_read_number(reader, &number) || !(number >= 1 && number <= INT_MAX) ||
        number != floor(number)) {
        return false;
    }
    asked->pid = (int)number;
    return true;
}

static bool take_flag(bool *flag, struct hs_json_reader *reader)
{
    char kind = hs_json_peek(reader);
    hs_json_skip(reader);
    *flag = kind == 't';
    return kind == 't' || kind == 'f';
}

static bool take(struct hs_ui_asked *asked, const struct hs_json_text *key,
                 struct hs_json_reader *reader)
{
    if (hs_json_text_is(key, "session")) {
        return take_session(asked, reader);
    }
    if (hs_json_text_is(key, "pid")) {
        return take_pid(asked, reader);
    }
    if (hs_json_text_is(key, "blocks")) {
        return take_flag(&asked->with_blocks, reader);
    }
    return hs_json_text_is(key, "moment") && take_flag(&asked->is_moment, reader);
}

bool hs_ui_asked_read(const char *text, size_t bytes, struct hs_ui_asked *ret_asked)
{
    struct hs_ui_asked asked = { .pid = 0 };
    struct hs_json_reader reader;
    struct hs_json_text key;
    hs_json_begin(&reader, text, text + bytes);
    bool is_good = hs_json_peek(&reader) == '{' && hs_json_enter(&reader, '{');
    while (is_good && hs_json_next_key(&reader, &key)) {
        is_good = take(&asked, &key, &reader);
    }
    is_good = is_good && !reader.is_bad;
    hs_json_end(&reader);
    if (is_good) {
        *ret_asked = asked;
    }
    return is_good;
}
