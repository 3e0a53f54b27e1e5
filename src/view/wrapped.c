/*
 * Wraps paragraphs: see wrapped.h.
 */
#include "view/wrapped.h"

#include <string.h>

#include "util/utf8.h"

/* Longer lines are hard to read, however wide the terminal is. */
#define PARAGRAPH_COLUMNS 100

void hs_wrapped_write(struct hs_buf *buf, const char *indent, unsigned columns, const char *text)
{
    size_t width_max = columns == 0 || columns > PARAGRAPH_COLUMNS ? PARAGRAPH_COLUMNS : columns;
    size_t most = width_max > strlen(indent) + 8 ? width_max - strlen(indent) : 8;
    size_t used = 0;
    for (const char *word = text; *word;) {
        word += strspn(word, " ");
        size_t bytes = strcspn(word, " ");
        if (strncmp(word + bytes, " %", 2) == 0) {
            bytes += 1 + strcspn(word + bytes + 1, " "); /* "95 %" stays together */
        }
        /* A word that is longer than a line is broken at the end of the line. */
        bytes = hs_utf8_fit(word, bytes, most);
        size_t width = hs_utf8_columns(word, bytes);
        if (used > 0 && used + 1 + width > width_max) {
            hs_buf_char(buf, '\n');
            used = 0;
        }
        hs_buf_str(buf, used == 0 ? indent : " ");
        hs_utf8_write(buf, word, bytes);
        used += width + (used == 0 ? strlen(indent) : 1);
        word += bytes;
    }
    hs_buf_char(buf, '\n');
}
