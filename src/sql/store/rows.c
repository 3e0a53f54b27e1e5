/*
 * See rows.h.
 */
#include "sql/store/rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "rt/base.h"
#include "rt/bits.h"
#include "rt/check.h"
#include "util/array.h"

#define ROWS_MAX (UINT32_C(1) << 31)
/* Bits that the sort uses in one pass. */
#define DIGIT_BITS  16U
#define DIGIT_COUNT (1U << DIGIT_BITS)

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
    while (rows->orders) {
        struct hs_rows_order *next = rows->orders->next;
        free(rows->orders);
        rows->orders = next;
    }
    free(rows->cells);
    rows->cells = NULL;
    rows->count = 0;
    rows->capacity = 0;
}

#if HS_HAS_CHECKS
static bool is_queried(const struct hs_rows *rows)
{
    bool is_indexed = rows->orders != NULL;
    for (uint32_t column = 0; column < rows->column_count; column++) {
        is_indexed |= rows->indexes[column].heads != NULL;
    }
    return is_indexed;
}
#endif

int hs_rows_add(struct hs_rows *rows, const int64_t *cells, uint32_t *ret_row)
{
    HS_ASSERT_SLOW(!is_queried(rows));
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

/* Scratch of a sort. */
struct sorter {
    const struct hs_rows *rows;
    const struct hs_rows_texts *texts;
    uint32_t
        *ranks; /* by text id, of the texts of one column: their place in the order of strings */
    uint32_t *used;  /* ids of these texts */
    uint32_t *spare; /* by row */
    uint32_t *counts;
};

/* The value by which a row is sorted. */
static int64_t key_of(const struct sorter *s, uint32_t row, uint32_t column)
{
    int64_t value = hs_rows_get(s->rows, row, column);
    bool is_ranked = s->rows->columns[column].type == HS_ROWS_TEXT && value >= 0 &&
                     value < (int64_t)s->texts->count;
    return is_ranked ? (int64_t)s->ranks[value] : value;
}

/* Finds the ranks of the texts that a column has. */
static void rank_texts(struct sorter *s, uint32_t column)
{
    uint32_t used_count = 0;
    memset(s->ranks, 0, ((size_t)s->texts->count + 1) * sizeof(s->ranks[0]));
    for (uint32_t row = 0; row < s->rows->count; row++) {
        int64_t value = hs_rows_get(s->rows, row, column);
        if (value >= 0 && value < (int64_t)s->texts->count && s->ranks[value] == 0) {
            s->ranks[value] = 1;
            s->used[used_count++] = (uint32_t)value;
        }
    }
    if (used_count > 0) {
        qsort_r(s->used, used_count, sizeof(s->used[0]), s->texts->compare, s->texts->ctx);
    }
    for (uint32_t i = 0; i < used_count; i++) {
        s->ranks[s->used[i]] = i;
    }
}

/* A stable sort by one column, 16 bits at a time. */
static void sort_by(struct sorter *s, uint32_t column, uint32_t *order)
{
    const struct hs_rows *rows = s->rows;
    /* Shifts signed numbers so that their order is that of unsigned ones. */
    const uint64_t sign = UINT64_C(1) << 63;
    uint64_t least = UINT64_MAX, most = 0;
    if (rows->columns[column].type == HS_ROWS_TEXT) {
        rank_texts(s, column);
    }
    for (uint32_t row = 0; row < rows->count; row++) {
        uint64_t value = (uint64_t)key_of(s, row, column) ^ sign;
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    uint64_t range = most > least ? most - least : 0;
    for (unsigned shift = 0; shift < 64 && range >> shift > 0; shift += DIGIT_BITS) {
        memset(s->counts, 0, (DIGIT_COUNT + 1) * sizeof(*s->counts));
        for (uint32_t i = 0; i < rows->count; i++) {
            uint64_t value = ((uint64_t)key_of(s, i, column) ^ sign) - least;
            s->counts[(value >> shift & (DIGIT_COUNT - 1)) + 1]++;
        }
        for (uint32_t i = 1; i <= DIGIT_COUNT; i++) {
            s->counts[i] += s->counts[i - 1];
        }
        for (uint32_t i = 0; i < rows->count; i++) {
            uint64_t value = ((uint64_t)key_of(s, order[i], column) ^ sign) - least;
            s->spare[s->counts[value >> shift & (DIGIT_COUNT - 1)]++] = order[i];
        }
        memcpy(order, s->spare, rows->count * sizeof(*order));
    }
}

static struct hs_rows_order *make_order(const struct hs_rows *rows, const uint8_t *columns,
                                        uint32_t column_count, const struct hs_rows_texts *texts)
{
    struct hs_rows_order *order =
        malloc(sizeof(*order) + ((size_t)rows->count + 1) * sizeof(order->rows[0]));
    struct sorter s = { .rows = rows, .texts = texts };
    s.ranks = malloc(((size_t)texts->count + 1) * sizeof(*s.ranks));
    s.used = malloc(((size_t)texts->count + 1) * sizeof(*s.used));
    s.spare = malloc(((size_t)rows->count + 1) * sizeof(*s.spare));
    s.counts = malloc((DIGIT_COUNT + 1) * sizeof(*s.counts));
    if (order && s.ranks && s.used && s.spare && s.counts) {
        *order = (struct hs_rows_order){ .column_count = column_count };
        memcpy(order->columns, columns, column_count);
        for (uint32_t row = 0; row < rows->count; row++) {
            order->rows[row] = row;
        }
        for (uint32_t i = column_count; i-- > 0;) {
            sort_by(&s, columns[i], order->rows);
        }
    } else {
        free(order);
        order = NULL;
    }
    free(s.ranks);
    free(s.used);
    free(s.spare);
    free(s.counts);
    return order;
}

const struct hs_rows_order *hs_rows_order(struct hs_rows *rows, const uint8_t *columns,
                                          uint32_t column_count, const struct hs_rows_texts *texts)
{
    if (column_count > HS_ROWS_ORDER_MAX) {
        return NULL;
    }
    for (struct hs_rows_order *known = rows->orders; known; known = known->next) {
        if (known->column_count == column_count &&
            memcmp(known->columns, columns, column_count) == 0) {
            return known;
        }
    }
    struct hs_rows_order *order = make_order(rows, columns, column_count, texts);
    if (order) {
        order->next = rows->orders;
        rows->orders = order;
    }
    return order;
}

/* Linear counting: each value sets the bit of its hash, and the number of bits that stay 0 gives
 * the estimate. */
static double count_per_value(const struct hs_rows *rows, uint32_t column)
{
    uint64_t bit_count = 64;
    while (bit_count < rows->count) {
        bit_count *= 2;
    }
    uint64_t *words = calloc(bit_count / 64, sizeof(*words));
    if (!words) {
        return 1;
    }
    for (uint32_t row = 0; row < rows->count; row++) {
        uint64_t bit = hs_mix64((uint64_t)hs_rows_get(rows, row, column)) & (bit_count - 1);
        words[bit / 64] |= UINT64_C(1) << bit % 64;
    }
    uint64_t set_count = 0;
    for (uint64_t i = 0; i < bit_count / 64; i++) {
        set_count += (uint64_t)__builtin_popcountll(words[i]);
    }
    free(words);
    double clear_count = set_count < bit_count ? (double)(bit_count - set_count) : 0.5;
    double distinct = -(double)bit_count * log(clear_count / (double)bit_count);
    return distinct < rows->count ? rows->count / distinct : 1;
}

double hs_rows_per_value(struct hs_rows *rows, uint32_t column)
{
    if (rows->columns[column].type == HS_ROWS_NUMBER || rows->count == 0) {
        return 1;
    }
    if (rows->per_value[column] == 0) {
        rows->per_value[column] = count_per_value(rows, column);
    }
    return rows->per_value[column];
}
