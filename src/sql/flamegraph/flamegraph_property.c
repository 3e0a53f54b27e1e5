/*
 * Properties of merged nodes: the one value that all of them have, or the result of an aggregate.
 */
#include <stdlib.h>
#include <string.h>

#include "sql/flamegraph/flamegraph_query.h"

#define CONCAT_BYTES_MAX (16U << 20)

static double as_double(const struct hs_flamegraph_column *column, uint32_t node)
{
    double real = 0;
    if (column->types[node] == SQLITE_INTEGER) {
        return (double)column->words[node];
    }
    memcpy(&real, &column->words[node], sizeof(real));
    return column->types[node] == SQLITE_FLOAT ? real : 0;
}

static bool is_equal(const struct hs_flamegraph_column *column, uint32_t a, uint32_t b)
{
    return column->types[a] == column->types[b] && column->words[a] == column->words[b];
}

static void result_cell(const struct hs_flamegraph_source *source,
                        const struct hs_flamegraph_column *column, uint32_t node,
                        sqlite3_context *context)
{
    size_t bytes = 0;
    const char *text;
    switch (column->types[node]) {
    case SQLITE_INTEGER:
        sqlite3_result_int64(context, column->words[node]);
        break;
    case SQLITE_FLOAT:
        sqlite3_result_double(context, as_double(column, node));
        break;
    case SQLITE_TEXT:
        text = hs_flamegraph_source_text(source, column->words[node], &bytes);
        sqlite3_result_text64(context, text, bytes, SQLITE_TRANSIENT, SQLITE_UTF8);
        break;
    default:
        sqlite3_result_null(context);
    }
}

static void add_cell(const struct hs_flamegraph_source *source,
                     const struct hs_flamegraph_column *column, uint32_t node, struct hs_buf *buf)
{
    size_t bytes = 0;
    if (column->types[node] == SQLITE_INTEGER) {
        hs_buf_printf(buf, "%lld", (long long)column->words[node]);
    } else if (column->types[node] == SQLITE_FLOAT) {
        size_t before = buf->bytes;
        hs_buf_printf(buf, "%.15g", as_double(column, node));
        bool is_whole =
            buf->err == 0 && strcspn(hs_buf_text(buf) + before, ".eEnN") == buf->bytes - before;
        hs_buf_str(buf, is_whole ? ".0" : "");
    } else if (column->types[node] == SQLITE_TEXT) {
        const char *text = hs_flamegraph_source_text(source, column->words[node], &bytes);
        hs_buf_add(buf, text, bytes);
    }
}

static void result_sum(const struct hs_flamegraph_column *column, const uint32_t *nodes,
                       uint32_t count, sqlite3_context *context)
{
    int64_t sum = 0;
    double real = 0;
    bool is_real = false, is_over = false, is_any = false;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t type = column->types[nodes[i]];
        is_any = is_any || type == SQLITE_INTEGER || type == SQLITE_FLOAT;
        is_real = is_real || type == SQLITE_FLOAT;
        real += as_double(column, nodes[i]);
        if (type == SQLITE_INTEGER) {
            is_over = __builtin_add_overflow(sum, column->words[nodes[i]], &sum) || is_over;
        }
    }
    if (!is_any) {
        sqlite3_result_null(context);
    } else if (is_real) {
        sqlite3_result_double(context, real);
    } else if (is_over) {
        sqlite3_result_error(context, "a sum of a flame graph's property exceeds 64 bits", -1);
    } else {
        sqlite3_result_int64(context, sum);
    }
}

static bool is_minus_zero(const struct hs_flamegraph_column *column, uint32_t node)
{
    return column->types[node] == SQLITE_FLOAT && column->words[node] == INT64_MIN;
}

static int compare_words(const void *a_, const void *b_)
{
    const uint64_t *a = a_, *b = b_;
    return a[0] != b[0] ? (a[0] < b[0] ? -1 : 1) : a[1] != b[1] ? (a[1] < b[1] ? -1 : 1) : 0;
}

/* Counts the different values of these nodes, without NULLs. */
static uint32_t count_distinct(const struct hs_flamegraph_column *column, const uint32_t *nodes,
                               uint32_t count)
{
    uint64_t(*cells)[2] = calloc(count + (size_t)1, sizeof(*cells));
    uint32_t used = 0, distinct = 0;
    for (uint32_t i = 0; cells && i < count; i++) {
        if (column->types[nodes[i]] != SQLITE_NULL) {
            cells[used][0] = column->types[nodes[i]];
            cells[used++][1] =
                is_minus_zero(column, nodes[i]) ? 0 : (uint64_t)column->words[nodes[i]];
        }
    }
    if (used > 0) {
        qsort(cells, used, sizeof(*cells), compare_words);
    }
    for (uint32_t i = 0; i < used; i++) {
        distinct += i == 0 || compare_words(cells[i], cells[i - 1]) != 0 ? 1 : 0;
    }
    free(cells);
    return distinct;
}

/* "a.c:3", or "a.c:3 and 4 others". The 4 counts all different values, as in trace_processor. */
static void result_summary(const struct hs_flamegraph_source *source,
                           const struct hs_flamegraph_column *column, const uint32_t *nodes,
                           uint32_t count, sqlite3_context *context)
{
    uint32_t first = 0;
    while (first < count && column->types[nodes[first]] == SQLITE_NULL) {
        first++;
    }
    uint32_t distinct = count_distinct(column, nodes, count);
    if (first == count || distinct <= 1) {
        if (first < count) {
            result_cell(source, column, nodes[first], context);
        }
        return;
    }
    struct hs_buf buf = { 0 };
    add_cell(source, column, nodes[first], &buf);
    hs_buf_printf(&buf, " and %u others", distinct);
    sqlite3_result_text64(context, hs_buf_text(&buf), buf.bytes, SQLITE_TRANSIENT, SQLITE_UTF8);
    hs_buf_deinit(&buf);
}

static void result_concat(const struct hs_flamegraph_source *source,
                          const struct hs_flamegraph_column *column, const uint32_t *nodes,
                          uint32_t count, sqlite3_context *context)
{
    struct hs_buf buf = { 0 };
    bool is_first = true;
    for (uint32_t i = 0; i < count && buf.bytes <= CONCAT_BYTES_MAX; i++) {
        if (column->types[nodes[i]] != SQLITE_NULL) {
            hs_buf_str(&buf, is_first ? "" : ",");
            add_cell(source, column, nodes[i], &buf);
            is_first = false;
        }
    }
    if (buf.bytes > CONCAT_BYTES_MAX) {
        sqlite3_result_error_toobig(context);
    } else if (!is_first) {
        sqlite3_result_text64(context, hs_buf_text(&buf), buf.bytes, SQLITE_TRANSIENT, SQLITE_UTF8);
    }
    hs_buf_deinit(&buf);
}

static void result_one(const struct hs_flamegraph_source *source,
                       const struct hs_flamegraph_column *column, const uint32_t *nodes,
                       uint32_t count, sqlite3_context *context)
{
    for (uint32_t i = 1; i < count; i++) {
        if (!is_equal(column, nodes[0], nodes[i])) {
            return;
        }
    }
    result_cell(source, column, nodes[0], context);
}

/* The column that an aggregate reads for this property; the property's own column if the aggregate
 * names an unknown one. */
static const struct hs_flamegraph_column *input_of(const struct hs_flamegraph_source *source,
                                                   struct hs_flamegraph_word in, size_t column)
{
    for (size_t i = 0; i < source->column_count; i++) {
        if (hs_flamegraph_word_is(in, source->columns[i].name)) {
            return &source->columns[i];
        }
    }
    return &source->columns[column];
}

void hs_flamegraph_property(const struct hs_flamegraph_source *source,
                            const struct hs_flamegraph_result *result, uint32_t node, size_t column,
                            sqlite3_context *context)
{
    const struct hs_flamegraph_node *made = &result->graph->nodes[node];
    const uint32_t *entries = result->graph->entries + made->first_entry;
    const uint32_t *rows = result->graph->rows ? result->graph->rows : result->graph->entries;
    const uint32_t *nodes = rows + made->first_row;
    for (size_t i = 0; i < result->config->aggregate_count; i++) {
        if (!hs_flamegraph_word_is(result->config->aggregates[i].out,
                                   source->columns[column].name)) {
            continue;
        }
        const struct hs_flamegraph_column *in =
            input_of(source, result->config->aggregates[i].in, column);
        switch ((enum hs_flamegraph_aggregate_kind)result->config->aggregates[i].kind) {
        case HS_FLAMEGRAPH_SUM:
            result_sum(in, nodes, made->row_count, context);
            return;
        case HS_FLAMEGRAPH_ONE_OR_SUMMARY:
            result_summary(source, in, nodes, made->row_count, context);
            return;
        case HS_FLAMEGRAPH_CONCAT_WITH_COMMA:
            result_concat(source, in, nodes, made->row_count, context);
            return;
        case HS_FLAMEGRAPH_AGGREGATE_N:
            break;
        }
    }
    result_one(source, &source->columns[column], entries, made->entry_count, context);
}
