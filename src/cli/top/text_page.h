/*
 * A page: the lines of text that fill a terminal, and how each of them looks. Nothing here knows
 * the terminal, so that pages can be tested, and printed as plain text.
 *
 * Ensures   lines are UTF-8 without control characters or marks that change the direction of text,
 *           and none is wider than the page, whatever names are in it.
 * Threads   none.
 * Fails     without memory, lines are left out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rt/base.h"
#include "util/buf.h"

enum hs_text_page_style {
    HS_TEXT_PAGE_PLAIN,
    HS_TEXT_PAGE_BOLD,
    HS_TEXT_PAGE_HEAD,     /* titles of columns */
    HS_TEXT_PAGE_SELECTED, /* where the cursor is */
    HS_TEXT_PAGE_DIM,
    HS_TEXT_PAGE_WARNING,
    HS_TEXT_PAGE_STYLE_N,
};

struct hs_text_page_line {
    size_t off, bytes; /* in `text` */
    enum hs_text_page_style style;
};

struct hs_text_page {
    unsigned columns, rows; /* of the terminal */
    struct hs_buf text;
    struct hs_text_page_line *lines;
    size_t count, capacity;
};

void hs_text_page_init(struct hs_text_page *page, unsigned columns, unsigned rows);
void hs_text_page_deinit(struct hs_text_page *page);

/* Adds a line: the text is sanitized and cut to the width. */
void hs_text_page_add(struct hs_text_page *page, enum hs_text_page_style style, const char *text);
/* The same, formatted as by printf(3). */
void hs_text_page_addf(struct hs_text_page *page, enum hs_text_page_style style, const char *format,
                       ...) HS_PRINTF(3, 4);
/* Adds empty lines, or leaves out the last ones, until there are `count`. */
void hs_text_page_fill(struct hs_text_page *page, size_t count);

/* Writes a small chart of values, the oldest first, in at most `columns` columns: "▁▂▄▇". */
void hs_text_page_write_chart(struct hs_buf *out, const double *values, size_t count,
                              size_t columns, bool is_utf8);
