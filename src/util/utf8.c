/*
 * See utf8.h.
 */
#include "util/utf8.h"

#include <stdbool.h>
#include <string.h>

#include "rt/base.h"
#include "util/buf.h"

#define REPLACEMENT 0xFFFDu

static const char replacement[] = "\xEF\xBF\xBD";

size_t hs_utf8_next(const char *text, size_t bytes, uint32_t *ret_char)
{
    const unsigned char *s = (const unsigned char *)text;
    uint32_t c = s[0];
    size_t length = c < 0x80 ? 1 : c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
    static const uint32_t min_of_length[] = { 0, 0, 0x80, 0x800, 0x10000 };
    *ret_char = REPLACEMENT;
    if (length == 1) {
        *ret_char = c;
        return 1;
    }
    if (c < 0xC2 || c > 0xF4 || length > bytes) {
        return 1;
    }
    c &= 0x7Fu >> length;
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xC0u) != 0x80u) {
            return 1;
        }
        c = c << 6 | (s[i] & 0x3Fu);
    }
    /* Overlong forms and halves of surrogate pairs are not characters. */
    if (c < min_of_length[length] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) {
        return 1;
    }
    *ret_char = c;
    return length;
}

struct range {
    uint32_t first, last;
};

static int is_in(uint32_t c, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (c >= ranges[i].first && c <= ranges[i].last) {
            return 1;
        }
    }
    return 0;
}

/* How many columns of a terminal `c` takes: 0 for combining marks, 2 for wide East Asian
 * characters. */
static int char_columns(uint32_t c)
{
    /* The blocks that occur in names of functions and files; a wrong width costs one column. */
    static const struct range combining[] = {
        { 0x0300, 0x036F }, { 0x0483, 0x0489 }, { 0x0591, 0x05BD }, { 0x064B, 0x065F },
        { 0x200B, 0x200F }, { 0x202A, 0x202E }, { 0x2060, 0x2064 }, { 0x20D0, 0x20F0 },
        { 0xFE00, 0xFE0F }, { 0xFE20, 0xFE2F }, { 0xFEFF, 0xFEFF },
    };
    static const struct range wide[] = {
        { 0x1100, 0x115F },   { 0x2E80, 0x303E }, { 0x3041, 0x33FF },   { 0x3400, 0x4DBF },
        { 0x4E00, 0x9FFF },   { 0xA000, 0xA4CF }, { 0xAC00, 0xD7A3 },   { 0xF900, 0xFAFF },
        { 0xFE30, 0xFE6F },   { 0xFF00, 0xFF60 }, { 0x1F300, 0x1F64F }, { 0x1F900, 0x1F9FF },
        { 0x20000, 0x3FFFD },
    };
    if (c < 0x300) {
        return 1;
    }
    return is_in(c, combining, HS_COUNT_OF(combining)) ? 0
           : is_in(c, wide, HS_COUNT_OF(wide))         ? 2
                                                       : 1;
}

/*
 * Replaces control characters (C0, DEL, C1) and marks that change the direction of the text after
 * them.
 */
static uint32_t sanitize_char(uint32_t c)
{
    if (c < 0x20 || (c >= 0x7F && c <= 0x9F) || (c >= 0x202A && c <= 0x202E) ||
        (c >= 0x2066 && c <= 0x2069) || c == 0x2028 || c == 0x2029) {
        return REPLACEMENT;
    }
    return c;
}

/* A U+FFFD in the text itself is three bytes long, and stays. */
static bool is_bad(uint32_t c, size_t length)
{
    return sanitize_char(c) != c || (c == REPLACEMENT && length == 1);
}

size_t hs_utf8_columns(const char *text, size_t bytes)
{
    size_t columns = 0;
    for (size_t at = 0; at < bytes;) {
        uint32_t c;
        at += hs_utf8_next(text + at, bytes - at, &c);
        columns += (size_t)char_columns(sanitize_char(c));
    }
    return columns;
}

void hs_utf8_write(struct hs_buf *buf, const char *text, size_t bytes)
{
    size_t clean_from = 0;
    for (size_t at = 0; at < bytes;) {
        uint32_t c;
        size_t length = hs_utf8_next(text + at, bytes - at, &c);
        if (is_bad(c, length)) {
            hs_buf_add(buf, text + clean_from, at - clean_from);
            hs_buf_str(buf, replacement);
            clean_from = at + length;
        }
        at += length;
    }
    hs_buf_add(buf, text + clean_from, bytes - clean_from);
}

size_t hs_utf8_clean(const char *text, size_t bytes, char *out, size_t room)
{
    size_t used = 0;
    for (size_t at = 0; at < bytes;) {
        uint32_t c;
        size_t length = hs_utf8_next(text + at, bytes - at, &c);
        bool is_replaced = c != '\t' && is_bad(c, length);
        size_t more = is_replaced ? sizeof(replacement) - 1 : length;
        if (used + more > room) {
            break;
        }
        memcpy(out + used, is_replaced ? replacement : text + at, more);
        used += more;
        at += length;
    }
    return used;
}

size_t hs_utf8_fit(const char *text, size_t bytes, size_t columns)
{
    size_t at = 0;
    size_t used = 0;
    while (at < bytes) {
        uint32_t c;
        size_t length = hs_utf8_next(text + at, bytes - at, &c);
        used += (size_t)char_columns(sanitize_char(c));
        if (used > columns) {
            break;
        }
        at += length;
    }
    return at;
}

size_t hs_utf8_fit_end(const char *text, size_t bytes, size_t columns)
{
    size_t left = hs_utf8_columns(text, bytes);
    size_t at = 0;
    while (at < bytes && left > columns) {
        uint32_t c;
        at += hs_utf8_next(text + at, bytes - at, &c);
        left -= (size_t)char_columns(sanitize_char(c));
    }
    return at;
}
