/*
 * Aligned columns of text, fitted to the width of a terminal.
 *
 * Cells are collected first. Then the widths are known and the rows are written: numbers aligned to
 * the right, words to the left, and one column of names that takes the rest of the line and
 * shortens its names to it (cxx_name.h). A note (a file and line, a module) follows its name
 * directly where there is room.
 *
 *     struct hs_table table;
 *     hs_table_init(&table, columns, HS_COUNT_OF(columns));
 *     for each row: hs_table_cell(&table, "%s", text) once for each column
 *     hs_table_write(&table, buf, &(struct hs_table_style){ .columns = 100 });
 *     hs_table_deinit(&table);
 *
 * Holds     each row has a cell for every column. A column whose cells are all empty takes no room.
 * Threads   one writer.
 * Fails     through the buffer that it writes to.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rt/base.h"
#include "util/buf.h"

#define HS_TABLE_COLUMNS_MAX 12

enum hs_table_align {
    HS_TABLE_LEFT,
    HS_TABLE_RIGHT,
    HS_TABLE_NAME, /* name of a function; at most one NAME or TEXT column, followed only by a
                    * NOTE */
    HS_TABLE_TEXT, /* cut at its end when there is no room */
    HS_TABLE_NOTE,
};

struct hs_table_column {
    const char *title; /* "": none */
    enum hs_table_align align;
};

struct hs_table {
    const struct hs_table_column *columns;
    size_t column_count;
    struct hs_buf text;  /* cells, each ended by NUL */
    struct hs_buf cells; /* size_t offsets in text */
};

struct hs_table_style {
    unsigned indent;
    unsigned columns; /* of the terminal; 0: names are not shortened */
    bool has_colour;
    bool has_titles;
    /*
     * Which columns to omit, by number, when a line would be too long. "5 43 2" omits the 5th
     * first, then the 4th and 3rd together. NULL: none.
     */
    const char *give_way;
};

/* `columns` must stay valid as long as the table. */
void hs_table_init(struct hs_table *table, const struct hs_table_column *columns,
                   size_t column_count);
/* Frees the cells. */
void hs_table_deinit(struct hs_table *table);

/* Adds the next cell, row by row from left to right. */
void hs_table_cell(struct hs_table *table, const char *format, ...) HS_PRINTF(2, 3);
/* Writes all rows to `out`. */
void hs_table_write(struct hs_table *table, struct hs_buf *out, const struct hs_table_style *style);

/* Text styles of a terminal; without colour, hs_text_style() writes nothing. */
enum hs_text_style {
    HS_TEXT_PLAIN,
    HS_TEXT_BOLD,
    HS_TEXT_DIM,
    HS_TEXT_WARN,
};

/* Writes the escape sequence that starts `style`; HS_TEXT_PLAIN ends the others. */
void hs_text_style(struct hs_buf *buf, bool has_colour, enum hs_text_style style);

/*
 * Writes `text`, sanitized and padded with blanks to `columns`: before it (is_right) or behind it.
 */
void hs_text_pad(struct hs_buf *buf, const char *text, size_t columns, bool is_right);
