/*
 * Columns of text that line up, fitted to a terminal.
 *
 * Cells are collected, then widths are known and rows are written: numbers to the right, words to the
 * left, and one column of names that takes what is left of the line and shortens its names to it
 * (cxx_name.h). A note (a file and line, a module) follows its name directly, as long as there is room.
 *
 *     struct hs_table table;
 *     hs_table_init(&table, columns, HS_COUNT_OF(columns));
 *     for each row: hs_table_cell(&table, "%s", text) once for each column
 *     hs_table_write(&table, buf, &(struct hs_table_style){ .columns = 100 });
 *     hs_table_deinit(&table);
 *
 * Holds     each row has a cell for every column. A column whose cells are all empty takes no room.
 * Threads   one writer.
 * Fails     through the buffer it writes to.
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
    HS_TABLE_NAME, /* of a function; at most one of NAME and TEXT, and only a note after it */
    HS_TABLE_TEXT, /* cut at its end when there is no room */
    HS_TABLE_NOTE,
};

struct hs_table_column {
    const char *title; /* "" none */
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
    /* Which columns to leave out, by number, when a line would be too long: "5 43 2" the 5th first, then
     * the 4th and 3rd together. NULL: none. */
    const char *give_way;
};

void hs_table_init(struct hs_table *table, const struct hs_table_column *columns,
                   size_t column_count);
void hs_table_deinit(struct hs_table *table);

void hs_table_cell(struct hs_table *table, const char *format, ...) HS_PRINTF(2, 3);
void hs_table_write(struct hs_table *table, struct hs_buf *out, const struct hs_table_style *style);

/* Styles of terminals: nothing is written when has_colour is false. */
enum hs_text_style {
    HS_TEXT_PLAIN,
    HS_TEXT_BOLD,
    HS_TEXT_DIM,
    HS_TEXT_WARN,
};

void hs_text_style(struct hs_buf *buf, bool has_colour, enum hs_text_style style);

/* `text`, filled up with blanks to `columns` in front (right) or behind. Made harmless. */
void hs_text_pad(struct hs_buf *buf, const char *text, size_t columns, bool is_right);
