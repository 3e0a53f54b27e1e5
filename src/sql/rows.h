/*
 * The rows of one SQL table, in memory: cells of 64 bits, row after row.
 *
 * Filling a table costs a copy of a few words a row; an index of a column is made when a query first asks for one
 * value of it, an order by columns when one first asks for that. rows_module.h shows the rows to SQLite.
 *
 * Holds     rows are only added until the first query, and never changed after it. Texts are numbers of strings of
 *           sql_store.h; doubles are their bits. HS_ROWS_NULL is NULL in a column of any type.
 * Threads   one user.
 * Fails     -ENOMEM, and -EOVERFLOW after 2^31 rows; the table stays as it was.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HS_ROWS_COLUMNS_MAX 48U
#define HS_ROWS_ORDER_MAX   8U /* columns of an order */
#define HS_ROWS_NULL        INT64_MIN
#define HS_ROWS_NONE        UINT32_MAX

enum hs_rows_type {
    HS_ROWS_NUMBER, /* of the row: not stored */
    HS_ROWS_INT,
    HS_ROWS_REAL,
    HS_ROWS_TEXT,
};

struct hs_rows_column {
    const char *name;
    size_t name_bytes;
    enum hs_rows_type type;
    uint32_t cell; /* in the row */
};

/* Rows of equal value hang on each other, in ascending order. */
struct hs_rows_index {
    uint32_t *heads; /* by hash; HS_ROWS_NONE: empty */
    uint32_t *next;  /* by row */
    uint32_t mask;
};

/* All rows, sorted by columns: the first one counts most, rows that are equal in all stay as they were. */
struct hs_rows_order {
    struct hs_rows_order *next;
    uint32_t column_count;
    uint8_t columns[HS_ROWS_ORDER_MAX];
    uint32_t rows[];
};

struct hs_rows {
    const char *name;
    struct hs_rows_column columns[HS_ROWS_COLUMNS_MAX];
    uint32_t column_count;
    uint32_t width; /* cells of a row */
    int64_t *cells;
    /* Of rows that lie elsewhere: makes each cell when it is read. NULL: they are in `cells`. */
    int64_t (*make_cell)(void *ctx, uint32_t row, uint32_t cell);
    void *make_ctx;
    uint32_t count;
    size_t capacity; /* of cells */
    struct hs_rows_index indexes[HS_ROWS_COLUMNS_MAX];
    double per_value[HS_ROWS_COLUMNS_MAX]; /* 0: not counted yet */
    struct hs_rows_order *orders;          /* those that were asked for */
};

/* Columns as "name type name type ...", type one of # int real text; the text must stay. */
void hs_rows_init(struct hs_rows *rows, const char *name, const char *columns);
void hs_rows_deinit(struct hs_rows *rows);

/* Rows that lie elsewhere, instead of added ones. */
static inline void hs_rows_set(struct hs_rows *rows, uint32_t count,
                               int64_t (*make_cell)(void *ctx, uint32_t row, uint32_t cell),
                               void *make_ctx)
{
    rows->make_cell = make_cell;
    rows->make_ctx = make_ctx;
    rows->count = count;
}

/* The number of the new row goes to ret_row. `cells` has rows->width elements. */
int hs_rows_add(struct hs_rows *rows, const int64_t *cells, uint32_t *ret_row);

static inline int64_t *hs_rows_at(const struct hs_rows *rows, uint32_t row)
{
    return rows->cells + (size_t)row * rows->width;
}

static inline int64_t hs_rows_get(const struct hs_rows *rows, uint32_t row, uint32_t column)
{
    const struct hs_rows_column *from = &rows->columns[column];
    if (from->type == HS_ROWS_NUMBER) {
        return row;
    }
    return rows->make_cell ? rows->make_cell(rows->make_ctx, row, from->cell)
                           : hs_rows_at(rows, row)[from->cell];
}

/* 0 or -ENOMEM. Afterwards hs_rows_first() and _next() may be used with this column. */
int hs_rows_index(struct hs_rows *rows, uint32_t column);
/* The first row whose value is this, and the one after `row`; HS_ROWS_NONE. */
uint32_t hs_rows_first(const struct hs_rows *rows, uint32_t column, int64_t value);
uint32_t hs_rows_next(const struct hs_rows *rows, uint32_t column, uint32_t row, int64_t value);
/* Numbers by size, NULL first; texts by their numbers: equal ones together. NULL: out of memory. Kept with the rows. */
const struct hs_rows_order *hs_rows_order(struct hs_rows *rows, const uint8_t *columns,
                                          uint32_t column_count);
/* About how many rows have the same value. */
double hs_rows_per_value(struct hs_rows *rows, uint32_t column);

static inline int64_t hs_rows_real(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}
