/*
 * Puts lines together: see text_page.h.
 */
#include "cli/top/text_page.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/utf8.h"

void hs_text_page_init(struct hs_text_page *page, unsigned columns, unsigned rows)
{
    *page = (struct hs_text_page){ .columns = columns, .rows = rows, .text = HS_BUF_INIT };
}

void hs_text_page_deinit(struct hs_text_page *page)
{
    hs_buf_deinit(&page->text);
    free(page->lines);
    *page = (struct hs_text_page){ .columns = 0 };
}

void hs_text_page_add(struct hs_text_page *page, enum hs_text_page_style style, const char *text)
{
    size_t bytes = hs_utf8_fit(text, strlen(text), page->columns);
    if (hs_array_reserve(&page->lines, &page->capacity, page->count + 1, sizeof(page->lines[0])) <
        0) {
        return;
    }
    size_t off = page->text.bytes;
    hs_utf8_write(&page->text, text, bytes);
    page->lines[page->count++] = (struct hs_text_page_line){ off, page->text.bytes - off, style };
}

void hs_text_page_addf(struct hs_text_page *page, enum hs_text_page_style style, const char *format,
                       ...)
{
    struct hs_buf line = HS_BUF_INIT;
    va_list args;
    va_start(args, format);
    hs_buf_vprintf(&line, format, args);
    va_end(args);
    hs_text_page_add(page, style, hs_buf_text(&line));
    hs_buf_deinit(&line);
}

void hs_text_page_fill(struct hs_text_page *page, size_t count)
{
    size_t before;
    page->count = page->count < count ? page->count : count;
    do {
        before = page->count;
        if (page->count < count) {
            hs_text_page_add(page, HS_TEXT_PAGE_PLAIN, "");
        }
    } while (page->count > before && page->count < count);
}

void hs_text_page_write_chart(struct hs_buf *out, const double *values, size_t count,
                              size_t columns, bool is_utf8)
{
    static const char *const blocks[] = { "\xE2\x96\x81", "\xE2\x96\x82", "\xE2\x96\x83",
                                          "\xE2\x96\x84", "\xE2\x96\x85", "\xE2\x96\x86",
                                          "\xE2\x96\x87", "\xE2\x96\x88" };
    static const char ascii[] = "_.-:=+*#";
    double low = 0, high = 0;
    if (count > columns) {
        values += count - columns;
        count = columns;
    }
    for (size_t i = 0; i < count; i++) {
        low = i == 0 || values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    for (size_t i = 0; i < count; i++) {
        double part = high > low ? (values[i] - low) / (high - low) : 0;
        unsigned level = (unsigned)(part * 7 + 0.5);
        level = level < 7 ? level : 7;
        if (is_utf8) {
            hs_buf_str(out, blocks[level]);
        } else {
            hs_buf_char(out, ascii[level]);
        }
    }
}
