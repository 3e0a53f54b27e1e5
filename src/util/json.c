/*
 * See json.h.
 */
#include "util/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rt/check.h"
#include "util/buf.h"
#include "util/utf8.h"

void hs_json_init(struct hs_json *json, struct hs_buf *buf, int indent_width)
{
    *json = (struct hs_json){ .buf = buf, .indent_width = indent_width };
}

static void new_line(struct hs_json *json)
{
    if (json->indent_width > 0 && !json->is_inline[json->depth]) {
        hs_buf_char(json->buf, '\n');
        hs_buf_repeat(json->buf, ' ', (size_t)json->indent_width * (size_t)json->depth);
    } else if (json->indent_width > 0 && json->has_element[json->depth]) {
        hs_buf_char(json->buf, ' ');
    }
}

/* Writes what must precede a value or a key: a comma, a line break, the indentation. */
static void begin(struct hs_json *json)
{
    if (json->has_key) {
        json->has_key = false;
        return;
    }
    if (json->has_element[json->depth]) {
        hs_buf_char(json->buf, ',');
    }
    if (json->depth > 0) {
        new_line(json);
    }
    json->has_element[json->depth] = true;
}

static void open_level(struct hs_json *json, char bracket, bool is_inline)
{
    begin(json);
    hs_buf_char(json->buf, bracket);
    if (json->depth + 1 >= HS_JSON_DEPTH) {
        json->buf->err = json->buf->err ? json->buf->err : -EOVERFLOW;
        return;
    }
    json->depth++;
    json->has_element[json->depth] = false;
    json->is_inline[json->depth] = is_inline;
}

void hs_json_open(struct hs_json *json, char bracket)
{
    open_level(json, bracket, json->depth > 0 && json->is_inline[json->depth]);
}

void hs_json_open_inline(struct hs_json *json, char bracket)
{
    open_level(json, bracket, true);
}

void hs_json_close(struct hs_json *json, char bracket)
{
    bool has_lines = json->has_element[json->depth] && !json->is_inline[json->depth];
    HS_ASSERT(!json->has_key && (json->depth > 0 || json->buf->err != 0));
    if (json->depth > 0) {
        json->depth--;
    }
    if (has_lines && json->indent_width > 0) {
        hs_buf_char(json->buf, '\n');
        hs_buf_repeat(json->buf, ' ', (size_t)json->indent_width * (size_t)json->depth);
    }
    hs_buf_char(json->buf, bracket);
    if (json->depth == 0) {
        hs_buf_char(json->buf, '\n');
    }
}

static void quoted(struct hs_buf *buf, const char *text)
{
    size_t bytes = strlen(text);
    size_t clean_from = 0;
    hs_buf_char(buf, '"');
    for (size_t at = 0; at < bytes;) {
        uint32_t c;
        size_t length = hs_utf8_next(text + at, bytes - at, &c);
        bool is_bad = c == 0xFFFD && length == 1;
        /* U+2028 and U+2029 end a line in older JavaScript; DEL can disturb a terminal. */
        bool is_special =
            c < 0x20 || c == '"' || c == '\\' || c == 0x7F || c == 0x2028 || c == 0x2029;
        if (is_bad || is_special) {
            hs_buf_add(buf, text + clean_from, at - clean_from);
            clean_from = at + length;
            if (c == '"' || c == '\\') {
                hs_buf_char(buf, '\\');
                hs_buf_char(buf, (char)c);
            } else {
                hs_buf_printf(buf, "\\u%04" PRIx32, c);
            }
        }
        at += length;
    }
    hs_buf_add(buf, text + clean_from, bytes - clean_from);
    hs_buf_char(buf, '"');
}

void hs_json_key(struct hs_json *json, const char *key)
{
    begin(json);
    quoted(json->buf, key);
    hs_buf_str(json->buf, json->indent_width > 0 ? ": " : ":");
    json->has_key = true;
}

void hs_json_string(struct hs_json *json, const char *text)
{
    begin(json);
    quoted(json->buf, text);
}

/*
 * Writes a whole number. Documents have millions of them, so that printf() would take a fifth of
 * the time in which a page is written.
 */
static void whole(struct hs_buf *buf, bool is_negative, uint64_t value)
{
    char text[24];
    size_t from = sizeof(text);
    do {
        text[--from] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    if (is_negative) {
        text[--from] = '-';
    }
    hs_buf_add(buf, text + from, sizeof(text) - from);
}

void hs_json_uint(struct hs_json *json, uint64_t value)
{
    begin(json);
    whole(json->buf, false, value);
}

void hs_json_int(struct hs_json *json, int64_t value)
{
    begin(json);
    whole(json->buf, value < 0, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void hs_json_double(struct hs_json *json, double value)
{
    if (!isfinite(value)) {
        hs_json_null(json);
        return;
    }
    begin(json);
    if (fabs(value) < 1e15 && value == floor(value)) {
        whole(json->buf, value < 0, (uint64_t)fabs(value));
        return;
    }
    /* The user's locale may have a decimal comma; JSON does not allow one. */
    char text[40];
    snprintf(text, sizeof(text), "%.15g", value);
    for (char *c = text; *c; c++) {
        *c = *c == ',' ? '.' : *c;
    }
    hs_buf_str(json->buf, text);
}

void hs_json_null(struct hs_json *json)
{
    begin(json);
    hs_buf_str(json->buf, "null");
}

void hs_json_kv_string(struct hs_json *json, const char *key, const char *text)
{
    hs_json_key(json, key);
    hs_json_string(json, text);
}

void hs_json_kv_uint(struct hs_json *json, const char *key, uint64_t value)
{
    hs_json_key(json, key);
    hs_json_uint(json, value);
}

void hs_json_kv_double(struct hs_json *json, const char *key, double value)
{
    hs_json_key(json, key);
    hs_json_double(json, value);
}

void hs_json_kv_bool(struct hs_json *json, const char *key, bool value)
{
    hs_json_key(json, key);
    begin(json);
    hs_buf_str(json->buf, value ? "true" : "false");
}
