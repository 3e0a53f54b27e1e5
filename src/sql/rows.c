/*
 * See rows.h.
 */
#include "sql/rows.h"

#include <errno.h>
#include <stdlib.h>

#include "rt/base.h"
#include "rt/bits.h"
#include "util/array.h"

#define ROWS_MAX    (UINT32_C(1) << 31)
#define SAMPLES_MAX 64U

static const char *word_end(const char *text)
{
    return text + strcspn(text, " ");
}

void hs_rows_init(struct hs_rows *rows, const char *name, const char *columns)
{
    *rows = (struct hs_rows){ .name = name };
    while (*columns) {
        struct hs_rows_column *column = &rows->columns[rows->column_count++];
        const char *end = word_end(columns);
        column->name = columns;
        column->name_bytes = (size_t)(end - columns);
        switch (end[1]) {
        case '#':
            column->type = HS_ROWS_NUMBER;
            break;
        case 'r':
            column->type = HS_ROWS_REAL;
            break;
        case 't':
            column->type = HS_ROWS_TEXT;
            break;
        default:
            column->type = HS_ROWS_INT;
            break;
        }
        if (column->type != HS_ROWS_NUMBER) {
            column->cell = rows->width++;
        }
        end = word_end(end + 1);
        columns = *end ? end + 1 : end;
    }
}

void hs_rows_deinit(struct hs_rows *rows)
{
    for (uint32_t i = 0; i < rows->column_count; i++) {
        free(rows->indexes[i].heads);
        free(rows->indexes[i].next);
        rows->indexes[i] = (struct hs_rows_index){ 0 };
    }
    free(rows->cells);
    rows->cells = NULL;
    rows->count = 0;
    rows->capacity = 0;
}

int hs_rows_add(struct hs_rows *rows, const int64_t *cells, uint32_t *ret_row)
{
    if (rows->count >= ROWS_MAX) {
        return -EOVERFLOW;
    }
    size_t at = (size_t)rows->count * rows->width;
    int err = hs_array_reserve(&rows->cells, &rows->capacity, at + rows->width, sizeof(cells[0]));
    if (err == 0) {
        memcpy(rows->cells + at, cells, rows->width * sizeof(cells[0]));
        *ret_row = rows->count++;
    }
    return err;
}

static uint32_t bucket_of(const struct hs_rows_index *index, int64_t value)
{
    return (uint32_t)hs_mix64((uint64_t)value) & index->mask;
}

int hs_rows_index(struct hs_rows *rows, uint32_t column)
{
    struct hs_rows_index *index = &rows->indexes[column];
    if (index->heads || rows->columns[column].type == HS_ROWS_NUMBER) {
        return 0;
    }
    uint32_t buckets = 16;
    while (buckets < rows->count) {
        buckets *= 2;
    }
    uint32_t *heads = malloc(buckets * sizeof(*heads));
    uint32_t *next = malloc(((size_t)rows->count + 1) * sizeof(*next));
    if (!heads || !next) {
        free(heads);
        free(next);
        return -ENOMEM;
    }
    memset(heads, 0xff, buckets * sizeof(*heads));
    *index = (struct hs_rows_index){ .heads = heads, .next = next, .mask = buckets - 1 };
    for (uint32_t row = rows->count; row-- > 0;) {
        uint32_t bucket = bucket_of(index, hs_rows_get(rows, row, column));
        next[row] = heads[bucket];
        heads[bucket] = row;
    }
    return 0;
}

static uint32_t follow(const struct hs_rows *rows, uint32_t column, uint32_t row, int64_t value)
{
    while (row != HS_ROWS_NONE && hs_rows_get(rows, row, column) != value) {
        row = rows->indexes[column].next[row];
    }
    return row;
}

uint32_t hs_rows_first(const struct hs_rows *rows, uint32_t column, int64_t value)
{
    if (rows->columns[column].type == HS_ROWS_NUMBER) {
        return value >= 0 && value < rows->count ? (uint32_t)value : HS_ROWS_NONE;
    }
    const struct hs_rows_index *index = &rows->indexes[column];
    return follow(rows, column, index->heads[bucket_of(index, value)], value);
}

uint32_t hs_rows_next(const struct hs_rows *rows, uint32_t column, uint32_t row, int64_t value)
{
    if (rows->columns[column].type == HS_ROWS_NUMBER) {
        return HS_ROWS_NONE;
    }
    return follow(rows, column, rows->indexes[column].next[row], value);
}

double hs_rows_per_value(const struct hs_rows *rows, uint32_t column)
{
    if (rows->columns[column].type == HS_ROWS_NUMBER || rows->count == 0) {
        return 1;
    }
    /* How many distinct values a few rows have, far from each other. */
    int64_t seen[SAMPLES_MAX];
    uint32_t distinct = 0, samples = rows->count < SAMPLES_MAX ? rows->count : SAMPLES_MAX;
    for (uint32_t i = 0; i < samples; i++) {
        uint32_t row = (uint32_t)((uint64_t)i * rows->count / samples);
        int64_t value = hs_rows_get(rows, row, column);
        uint32_t k = 0;
        while (k < distinct && seen[k] != value) {
            k++;
        }
        seen[k] = value;
        distinct += k == distinct;
    }
    return distinct * 2 > samples ? 1 + (double)(samples - distinct)
                                  : (double)rows->count / distinct;
}
