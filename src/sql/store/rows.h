/*
 * The rows of one SQL table in memory: cells of 64 bits, row after row.
 *
 * Adding a row to a table costs a copy of a few words. The hash index of a column is built when a
 * query first looks up a value in that column, and a sorted list of all rows when a query first
 * needs that order. rows_module.h makes the rows visible to SQLite.
 *
 * Holds     rows are added only until the first query, and never changed after it. The cell of a
 *           text holds the id of a string in sql_store.h; the cell of a double holds its bits.
 *           HS_ROWS_NULL is NULL in a column of any type.
 * Threads   one user.
 * Fails     -ENOMEM, and -EOVERFLOW after 2^31 rows; the table stays unchanged.
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
    HS_ROWS_NUMBER, /* the row number; computed, not stored */
    HS_ROWS_INT,
    HS_ROWS_REAL,
    HS_ROWS_TEXT,
};

struct hs_rows_column {
    const char *name;
    size_t name_bytes;
    enum hs_rows_type type;
    uint32_t cell; /* index of its cell within a row */
};

/* A hash table of chains: rows of equal value are linked in ascending order. */
struct hs_rows_index {
    uint32_t *heads; /* by hash; HS_ROWS_NONE: empty */
    uint32_t *next;  /* by row */
    uint32_t mask;
};

/* All rows, sorted by columns, of which the first is the most significant. The sort is stable. */
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
    /* Set if the rows are stored elsewhere: computes a cell when it is read. NULL: the rows are in
     * `cells`. */
    int64_t (*make_cell)(void *ctx, uint32_t row, uint32_t cell);
    void *make_ctx;
    uint32_t count;
    size_t capacity; /* capacity of `cells` */
    struct hs_rows_index indexes[HS_ROWS_COLUMNS_MAX];
    /* for each column, the estimated number of rows per value; 0: not computed yet */
    double per_value[HS_ROWS_COLUMNS_MAX];
    struct hs_rows_order *orders; /* the orders that queries have asked for */
};

/* Initializes a table. `columns` is "name type name type ...", where a type is one of # int real
 * text; the text must stay valid. */
void hs_rows_init(struct hs_rows *rows, const char *name, const char *columns);
/* Frees cells, indexes and orders. */
void hs_rows_deinit(struct hs_rows *rows);

/* Makes a table of rows that are stored elsewhere; no rows may be added to it. */
static inline void hs_rows_set(struct hs_rows *rows, uint32_t count,
                               int64_t (*make_cell)(void *ctx, uint32_t row, uint32_t cell),
                               void *make_ctx)
{
    rows->make_cell = make_cell;
    rows->make_ctx = make_ctx;
    rows->count = count;
}

/* Adds a row of rows->width cells; *ret_row is its number. */
int hs_rows_add(struct hs_rows *rows, const int64_t *cells, uint32_t *ret_row);

/* The cells of a row; only for rows in `cells`. */
static inline int64_t *hs_rows_at(const struct hs_rows *rows, uint32_t row)
{
    return rows->cells + (size_t)row * rows->width;
}

/* The cell of a row in a column. */
static inline int64_t hs_rows_get(const struct hs_rows *rows, uint32_t row, uint32_t column)
{
    const struct hs_rows_column *from = &rows->columns[column];
    if (from->type == HS_ROWS_NUMBER) {
        return row;
    }
    return rows->make_cell ? rows->make_cell(rows->make_ctx, row, from->cell)
                           : hs_rows_at(rows, row)[from->cell];
}

/* Builds the index of a column, so that hs_rows_first() and hs_rows_next() can be used with it.
 * Returns 0 or -ENOMEM. */
int hs_rows_index(struct hs_rows *rows, uint32_t column);
/* The first row with this value, and the next one after `row`; HS_ROWS_NONE: there is none. */
uint32_t hs_rows_first(const struct hs_rows *rows, uint32_t column, int64_t value);
uint32_t hs_rows_next(const struct hs_rows *rows, uint32_t column, uint32_t row, int64_t value);
/* What the cells of texts mean: ids below `count`, and the order of their strings. */
struct hs_rows_texts {
    uint32_t count;
    int (*compare)(const void *id, const void *other_id, void *ctx); /* of uint32_t, for qsort_r */
    void *ctx;
};

/* Returns all rows sorted by these columns, NULL first. SQLite takes the rows of a GROUP BY for
 * sorted when ORDER BY names the same columns, so texts are sorted as well. The list belongs to the
 * rows. NULL: out of memory. */
const struct hs_rows_order *hs_rows_order(struct hs_rows *rows, const uint8_t *columns,
                                          uint32_t column_count, const struct hs_rows_texts *texts);
/* An estimate of how many rows have the same value. */
double hs_rows_per_value(struct hs_rows *rows, uint32_t column);

/* The cell that stores a double. */
static inline int64_t hs_rows_real(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}
