/*
 * See json_read.h.
 */
#include "util/json_read.h"

#include <stdlib.h>
#include <string.h>

#include "util/buf.h"

#define NUMBER_BYTES_MAX 64

static void fail(struct hs_json_reader *reader)
{
    reader->is_cut |= reader->at >= reader->end && !reader->is_bad;
    reader->is_bad = true;
    reader->at = reader->end;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

char hs_json_peek(struct hs_json_reader *reader)
{
    while (reader->at < reader->end && is_blank(*reader->at)) {
        reader->at++;
    }
    return reader->at < reader->end ? *reader->at : '\0';
}

bool hs_json_enter(struct hs_json_reader *reader, char bracket)
{
    if (hs_json_peek(reader) != bracket) {
        hs_json_skip(reader);
        return false;
    }
    reader->at++;
    reader->is_first = true;
    return true;
}

/* Moves over the comma in front of a value that is not the first one, or over the end. */
static bool next(struct hs_json_reader *reader, char end)
{
    char c = hs_json_peek(reader);
    if (c == end) {
        reader->at++;
        reader->is_first = false;
        return false;
    }
    if (!reader->is_first) {
        if (c != ',') {
            fail(reader);
            return false;
        }
        reader->at++;
        c = hs_json_peek(reader);
    }
    reader->is_first = false;
    if (c == '\0' || c == ',' || c == '}' || c == ']') {
        fail(reader);
        return false;
    }
    return true;
}

bool hs_json_next_element(struct hs_json_reader *reader)
{
    return next(reader, ']');
}

/* --- strings --- */

/* Finds the quote that ends a string; `at` is behind the one that begins it. NULL: none is. */
static const char *end_of_string(const char *at, const char *end, bool *ret_has_escape)
{
    *ret_has_escape = false;
    for (; at < end && *at != '"'; at++) {
        if (*at == '\\') {
            *ret_has_escape = true;
            at++;
        }
    }
    return at < end ? at : NULL;
}

static void put_utf8(struct hs_buf *buf, uint32_t c)
{
    if (c < 0x80) {
        hs_buf_char(buf, (char)c);
    } else if (c < 0x800) {
        hs_buf_char(buf, (char)(0xC0 | c >> 6));
        hs_buf_char(buf, (char)(0x80 | (c & 0x3F)));
    } else {
        if (c < 0x10000) {
            hs_buf_char(buf, (char)(0xE0 | c >> 12));
        } else {
            hs_buf_char(buf, (char)(0xF0 | c >> 18));
            hs_buf_char(buf, (char)(0x80 | (c >> 12 & 0x3F)));
        }
        hs_buf_char(buf, (char)(0x80 | (c >> 6 & 0x3F)));
        hs_buf_char(buf, (char)(0x80 | (c & 0x3F)));
    }
}

/* The value of four hexadecimal digits; UINT32_MAX: they are none. */
static uint32_t hex4(const char *at, const char *end)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++, at++) {
        char c = at < end ? *at : 'x';
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : UINT32_MAX;
        if (digit == UINT32_MAX) {
            return UINT32_MAX;
        }
        value = value << 4 | digit;
    }
    return value;
}

/* Writes the character of "\uXXXX", or of two of them; `at` is at the first digit. */
static const char *put_unicode(struct hs_buf *buf, const char *at, const char *end)
{
    uint32_t c = hex4(at, end);
    if (c == UINT32_MAX) {
        put_utf8(buf, 0xFFFD);
        return at;
    }
    at += 4;
    if (c >= 0xD800 && c < 0xDC00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
        uint32_t low = hex4(at + 2, end);
        if (low >= 0xDC00 && low < 0xE000) {
            put_utf8(buf, 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00));
            return at + 6;
        }
    }
    put_utf8(buf, c >= 0xD800 && c < 0xE000 ? 0xFFFD : c);
    return at;
}

static void unescape(struct hs_buf *buf, const char *at, const char *end)
{
    static const char escapes[] = "n\nt\tr\rb\bf\f";
    hs_buf_clear(buf);
    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t)(end - at));
        const char *stop = escape ? escape : end;
        hs_buf_add(buf, at, (size_t)(stop - at));
        if (!escape || escape + 1 >= end) {
            return;
        }
        char c = escape[1];
        at = escape + 2;
        if (c == 'u') {
            at = put_unicode(buf, at, end);
            continue;
        }
        for (size_t i = 0; i + 1 < sizeof(escapes); i += 2) {
            if (escapes[i] == c) {
                c = escapes[i + 1];
                break;
            }
        }
        hs_buf_char(buf, c);
    }
}

bool hs_json_read_text(struct hs_json_reader *reader, struct hs_json_text *ret_text)
{
    if (hs_json_peek(reader) != '"') {
        hs_json_skip(reader);
        return false;
    }
    bool has_escape;
    const char *from = reader->at + 1;
    const char *to = end_of_string(from, reader->end, &has_escape);
    if (!to) {
        reader->at = reader->end;
        fail(reader);
        return false;
    }
    reader->at = to + 1;
    *ret_text = (struct hs_json_text){ from, (size_t)(to - from) };
    if (has_escape) {
        unescape(reader->scratch, from, to);
        ret_text->text = hs_buf_text(reader->scratch);
        ret_text->bytes = reader->scratch->err ? 0 : reader->scratch->bytes;
    }
    return true;
}

bool hs_json_next_key(struct hs_json_reader *reader, struct hs_json_text *ret_key)
{
    if (!next(reader, '}')) {
        return false;
    }
    if (hs_json_peek(reader) != '"' || !hs_json_read_text(reader, ret_key) ||
        hs_json_peek(reader) != ':') {
        fail(reader);
        return false;
    }
    reader->at++;
    return true;
}

bool hs_json_text_is(const struct hs_json_text *text, const char *with)
{
    return text->bytes == strlen(with) && memcmp(text->text, with, text->bytes) == 0;
}

/* --- other values --- */

static bool is_of_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '+' || c == '.';
}

bool hs_json_read_number(struct hs_json_reader *reader, double *ret_number)
{
    char first = hs_json_peek(reader);
    char number[NUMBER_BYTES_MAX];
    const char *from = reader->at;
    hs_json_skip(reader);
    size_t bytes = (size_t)(reader->at - from);
    if ((first != '-' && (first < '0' || first > '9')) || bytes >= sizeof(number)) {
        return false;
    }
    uint64_t whole = 0;
    size_t i = 0;
    for (; i < bytes && i < 15 && from[i] >= '0' && from[i] <= '9'; i++) {
        whole = whole * 10 + (uint64_t)(from[i] - '0');
    }
    if (i == bytes) {
        *ret_number = (double)whole; /* nearly all numbers, without strtod() */
        return true;
    }
    memcpy(number, from, bytes);
    number[bytes] = '\0';
    char *end;
    *ret_number = strtod(number, &end);
    return *end == '\0';
}

/* Skips the rest of an object or an array, and what is nested in it. */
static void skip_nested(struct hs_json_reader *reader)
{
    size_t depth = 0;
    for (; reader->at < reader->end; reader->at++) {
        char c = *reader->at;
        if (c == '"') {
            bool unused;
            const char *to = end_of_string(reader->at + 1, reader->end, &unused);
            if (!to) {
                break;
            }
            reader->at = to;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            reader->at++;
            return;
        }
    }
    reader->at = reader->end;
    fail(reader);
}

void hs_json_skip(struct hs_json_reader *reader)
{
    char c = hs_json_peek(reader);
    if (c == '"') {
        bool has_escape;
        const char *to = end_of_string(reader->at + 1, reader->end, &has_escape);
        reader->at = to ? to + 1 : reader->end;
        if (!to) {
            fail(reader);
        }
    } else if (c == '{' || c == '[') {
        skip_nested(reader);
    } else if (is_of_word(c)) {
        while (reader->at < reader->end && is_of_word(*reader->at)) {
            reader->at++;
        }
    } else {
        fail(reader);
    }
}
