/*
 * See xml.h.
 */
#include "util/xml.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "util/buf.h"
#include "util/utf8.h"

static const char *reference_for(uint32_t c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case 0xFFFE: /* valid UTF-8, but not allowed in XML */
    case 0xFFFF:
        return "\xEF\xBF\xBD";
    default:
        return NULL;
    }
}

void hs_xml_write(struct hs_buf *buf, const char *text, size_t bytes)
{
    size_t plain_from = 0;
    for (size_t at = 0; at < bytes;) {
        uint32_t c;
        size_t length = hs_utf8_next(text + at, bytes - at, &c);
        const char *reference = reference_for(c);
        if (reference) {
            hs_utf8_write(buf, text + plain_from, at - plain_from);
            hs_buf_str(buf, reference);
            plain_from = at + length;
        }
        at += length;
    }
    hs_utf8_write(buf, text + plain_from, bytes - plain_from);
}

void hs_xml_write_lines(struct hs_buf *buf, const char *text, size_t bytes)
{
    bool is_over = false;
    while (!is_over) {
        const char *stop = bytes > 0 ? memchr(text, '\n', bytes) : NULL;
        size_t line_bytes = stop ? (size_t)(stop - text) : bytes;
        hs_xml_write(buf, text, line_bytes);
        is_over = stop == NULL;
        if (stop) {
            hs_buf_char(buf, '\n');
            text = stop + 1;
            bytes -= line_bytes + 1;
        }
    }
}
