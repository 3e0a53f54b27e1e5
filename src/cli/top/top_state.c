/*
 * Filters and sorts: see top_state.h.
 */
#include "cli/top/top_state.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

const char *const hs_top_kind_names[HS_TOP_KIND_N] = { "stacks", "functions", "types" };
const char *const hs_top_sort_names[HS_TOP_SORT_N] = { "live", "total", "objects", "growth",
                                                       "name" };

bool hs_top_filter_matches(const struct hs_top_state *state, const char *name)
{
    return state->filter[0] == '\0' || strcasestr(name, state->filter) != NULL;
}

/* The table that is being sorted: qsort passes none. */
static const struct hs_top_rows *sorted_rows;
static const struct hs_top_row *sorted_table;
static enum hs_top_sort sorted_by;

static double value_of(const struct hs_top_row *row)
{
    return sorted_by == HS_TOP_BY_TOTAL    ? row->total_bytes
           : sorted_by == HS_TOP_BY_COUNT  ? row->live_count
           : sorted_by == HS_TOP_BY_GROWTH ? row->growth
                                           : row->live_bytes;
}

static int compare(const void *a, const void *b)
{
    const struct hs_top_row *x = &sorted_table[*(const uint32_t *)a];
    const struct hs_top_row *y = &sorted_table[*(const uint32_t *)b];
    int by_name = sorted_by == HS_TOP_BY_NAME
                      ? strcmp(hs_top_row_name(sorted_rows, x), hs_top_row_name(sorted_rows, y))
                      : 0;
    if (by_name != 0) {
        return by_name;
    }
    double vx = value_of(x), vy = value_of(y);
    return vx != vy ? (vx > vy ? -1 : 1) : (x->key > y->key) - (x->key < y->key);
}

/* Does a row hold anything that is shown? Rows of what was freed are not. */
static bool is_shown(const struct hs_top_rows *rows, const struct hs_top_state *state,
                     const struct hs_top_row *row)
{
    return (row->live_bytes > 0 || row->total_bytes > 0 || row->growth != 0) &&
           hs_top_filter_matches(state, hs_top_row_name(rows, row));
}

int hs_top_order_rows(const struct hs_top_rows *rows, const struct hs_top_state *state,
                      struct hs_top_order *order)
{
    const struct hs_top_table *table = &rows->tables[state->kind];
    int r = hs_array_reserve(&order->idx, &order->capacity, (size_t)table->count + 1,
                             sizeof(order->idx[0]));
    if (r < 0) {
        return r;
    }
    order->count = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        if (is_shown(rows, state, &table->rows[i])) {
            order->idx[order->count++] = i;
        }
    }
    sorted_rows = rows;
    sorted_table = table->rows;
    sorted_by = state->sort;
    qsort(order->idx, order->count, sizeof(order->idx[0]), compare);
    return 0;
}

void hs_top_order_deinit(struct hs_top_order *order)
{
    free(order->idx);
    *order = (struct hs_top_order){ .idx = NULL };
}
