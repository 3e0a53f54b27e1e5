/*
 * Makes one flame graph: columns, patterns and keys of the stored rows, then the graph. See
 * flamegraph_query.h.
 */
#include "sql/flamegraph/flamegraph_query.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

struct query {
    const struct hs_flamegraph_source *source;
    struct hs_flamegraph_result *result;
    struct hs_flamegraph_input input;
    struct hs_intern keys;
    size_t key_columns[HS_FLAMEGRAPH_LIST_MAX + 1]; /* the name, then the columns of the grouping */
    uint32_t *node_keys;
    struct hs_flamegraph_match *matches; /* by key */
    size_t match_capacity;
    int64_t *values[HS_FLAMEGRAPH_VALUES_MAX];
    /* the filters' patterns, then the view's */
    struct hs_pattern *patterns[HS_FLAMEGRAPH_LIST_MAX + 1];
    char **error;
};

void hs_flamegraph_result_deinit(struct hs_flamegraph_result *result)
{
    result->graph = hs_flamegraph_free(result->graph);
    free(result->config);
    free(result->config_bytes);
    memset(result, 0, sizeof(*result));
}

static int fail(struct query *query, const char *text)
{
    *query->error = sqlite3_mprintf("%s", text);
    return SQLITE_ERROR;
}

static int find_column(struct query *query, struct hs_flamegraph_word word, size_t *ret_column)
{
    for (size_t i = 0; i < query->source->column_count; i++) {
        if (hs_flamegraph_word_is(word, query->source->columns[i].name)) {
            *ret_column = i;
            return SQLITE_OK;
        }
    }
    *query->error = sqlite3_mprintf("the flame graph's query has no column %.*s",
                                    (int)(word.bytes < 200 ? word.bytes : 200), word.text);
    return SQLITE_ERROR;
}

/* Reads a column as whole numbers. */
static int take_values(struct query *query, size_t value, size_t column_idx)
{
    const struct hs_flamegraph_column *column = &query->source->columns[column_idx];
    size_t count = query->source->node_count;
    query->values[value] = calloc(count + 1, sizeof(int64_t));
    for (size_t i = 0; query->values[value] && i < count; i++) {
        double real = 0;
        memcpy(&real, &column->words[i], sizeof(real));
        bool is_whole = column->types[i] == SQLITE_FLOAT && real == floor(real) &&
                        fabs(real) < 9007199254740992.0;
        if (column->types[i] == SQLITE_INTEGER) {
            query->values[value][i] = column->words[i];
        } else if (is_whole) {
            query->values[value][i] = (int64_t)real;
        } else if (column->types[i] != SQLITE_NULL) {
            *query->error = sqlite3_mprintf(
                "%s of node %lld is not a whole number", column->name,
                (long long)query->source->columns[query->source->id_column].words[i]);
            return SQLITE_ERROR;
        }
    }
    query->input.values = (const int64_t *const *)query->values;
    query->input.value_count = value + 1;
    query->result->value_columns[value] = column_idx;
    return query->values[value] ? SQLITE_OK : SQLITE_NOMEM;
}

static int check_aggregates(struct query *query)
{
    const struct hs_flamegraph_config *config = query->result->config;
    int code = SQLITE_OK;
    size_t column;
    for (size_t i = 0; i < config->aggregate_count && code == SQLITE_OK; i++) {
        code = find_column(query, config->aggregates[i].in, &column);
        code = code ? code : find_column(query, config->aggregates[i].out, &column);
    }
    return code;
}

static int read_values(struct query *query)
{
    const struct hs_flamegraph_config *config = query->result->config;
    size_t column;
    if (config->value_count == 0) {
        int code = find_column(query, (struct hs_flamegraph_word){ "value", 5 }, &column);
        return code ? code : take_values(query, 0, column);
    }
    int code = SQLITE_OK;
    for (size_t i = 0; i < config->value_count && code == SQLITE_OK; i++) {
        code = find_column(query, config->values[i], &column);
        code = code ? code : take_values(query, i, column);
    }
    return code;
}

static int make_patterns(struct query *query)
{
    const struct hs_flamegraph_config *config = query->result->config;
    char error[HS_PATTERN_ERROR_BYTES] = "no memory";
    int err = 0;
    for (size_t i = 0; i < config->filter_count && err == 0; i++) {
        err = hs_pattern_new(config->filters[i].pattern.text, config->filters[i].pattern.bytes,
                             config->filters[i].is_caseless, &query->patterns[i], error);
    }
    if (err == 0 && config->has_view_pattern) {
        err = hs_pattern_new(config->view_pattern.text, config->view_pattern.bytes,
                             config->is_view_caseless, &query->patterns[HS_FLAMEGRAPH_LIST_MAX],
                             error);
    }
    query->input.show_all = (UINT64_C(1) << config->show_count) - 1;
    return err == 0 ? SQLITE_OK : fail(query, error);
}

static int search(struct query *query, size_t pattern, const char *name, size_t bytes,
                  bool *ret_is_found)
{
    int found = hs_pattern_search(query->patterns[pattern], name, bytes, NULL, NULL);
    *ret_is_found = found > 0;
    return found >= 0 ? SQLITE_OK
                      : fail(query, "a regular expression takes too many steps: make it simpler");
}

/* Searches a pattern in the name or in a column of the grouping, as text. NULL matches no
 * pattern. */
static int search_column(struct query *query, size_t pattern, size_t column_idx, uint32_t node,
                         bool *ret_is_found)
{
    const struct hs_flamegraph_column *column = &query->source->columns[column_idx];
    size_t bytes = 0;
    char number[32] = "";
    const char *text = number;
    double real;
    switch (column->types[node]) {
    case SQLITE_TEXT:
        text = hs_flamegraph_source_text(query->source, column->words[node], &bytes);
        break;
    case SQLITE_INTEGER:
        bytes = (size_t)snprintf(number, sizeof(number), "%lld", (long long)column->words[node]);
        break;
    case SQLITE_FLOAT:
        memcpy(&real, &column->words[node], sizeof(real));
        bytes = (size_t)snprintf(number, sizeof(number), "%.15g", real);
        break;
    default:
        return SQLITE_OK;
    }
    return search(query, pattern, text, bytes, ret_is_found);
}

/* Searches a pattern in all columns that distinguish nodes. */
static int search_node(struct query *query, size_t pattern, uint32_t node, bool *ret_is_found)
{
    int code = SQLITE_OK;
    *ret_is_found = false;
    for (size_t i = 0; i <= query->result->config->grouping_count && code == SQLITE_OK; i++) {
        code = *ret_is_found
                   ? SQLITE_OK
                   : search_column(query, pattern, query->key_columns[i], node, ret_is_found);
    }
    return code;
}

/* Matches all patterns against a node, in their order. Patterns after one that hides the frame are
 * not searched. */
static int match_node(struct query *query, uint32_t node, struct hs_flamegraph_match *match)
{
    const struct hs_flamegraph_config *config = query->result->config;
    memset(match, 0, sizeof(*match));
    int code = SQLITE_OK;
    unsigned show = 0;
    for (size_t i = 0; i < config->filter_count && code == SQLITE_OK && !match->is_hiding_frame;
         i++) {
        bool is_found = false;
        code = search_node(query, i, node, &is_found);
        switch ((enum hs_flamegraph_filter_kind)config->filters[i].kind) {
        case HS_FLAMEGRAPH_SHOW_STACK:
            match->show |= (uint64_t)is_found << show++;
            break;
        case HS_FLAMEGRAPH_HIDE_STACK:
            match->is_hiding_stack = match->is_hiding_stack || is_found;
            break;
        case HS_FLAMEGRAPH_HIDE_FRAME:
            match->is_hiding_frame = is_found;
            break;
        case HS_FLAMEGRAPH_FILTER_N:
            break;
        }
    }
    if (code == SQLITE_OK && config->has_view_pattern) {
        code = search_node(query, HS_FLAMEGRAPH_LIST_MAX, node, &match->is_view);
    }
    return code;
}

/* Makes the keys. Nodes are merged if their names and their columns of the grouping are equal. */
static int make_keys(struct query *query)
{
    const struct hs_flamegraph_source *source = query->source;
    const struct hs_flamegraph_config *config = query->result->config;
    size_t *columns = query->key_columns;
    columns[0] = source->name_column;
    int code = SQLITE_OK;
    for (size_t i = 0; i < config->grouping_count && code == SQLITE_OK; i++) {
        code = find_column(query, config->groupings[i], &columns[i + 1]);
    }
    query->node_keys = calloc(source->node_count + (size_t)1, sizeof(uint32_t));
    code = code ? code : query->node_keys ? SQLITE_OK : SQLITE_NOMEM;
    for (uint32_t n = 0; n < source->node_count && code == SQLITE_OK; n++) {
        struct hs_intern_key key = { 0, 0 };
        for (size_t i = 0; i <= config->grouping_count; i++) {
            const struct hs_flamegraph_column *column = &source->columns[columns[i]];
            key = hs_intern_mix(key, column->types[n]);
            key = hs_intern_mix(key, (uint64_t)column->words[n]);
        }
        bool is_new;
        if (hs_intern_put(&query->keys, key, &query->node_keys[n], &is_new) < 0 ||
            hs_array_reserve(&query->matches, &query->match_capacity, query->keys.count,
                             sizeof(query->matches[0])) < 0) {
            return SQLITE_NOMEM;
        }
        code = is_new ? match_node(query, n, &query->matches[query->node_keys[n]]) : SQLITE_OK;
    }
    return code;
}

static int make_graph(struct query *query)
{
    uint32_t bad = 0;
    struct hs_flamegraph_input *input = &query->input;
    input->node_count = query->source->node_count;
    input->parents = query->source->parents;
    input->order = query->source->order;
    input->keys = query->node_keys;
    input->key_count = query->keys.count;
    input->matches = query->matches;
    input->view = (enum hs_flamegraph_view)query->result->config->view;
    int err = hs_flamegraph_make(input, &query->result->graph, &bad);
    if (err == HS_FLAMEGRAPH_E_NEGATIVE) {
        const struct hs_flamegraph_column *ids = &query->source->columns[query->source->id_column];
        *query->error = sqlite3_mprintf("the value of node %lld is negative: a flame graph has no "
                                        "width for that",
                                        (long long)ids->words[bad]);
        return SQLITE_ERROR;
    }
    return err == 0                          ? SQLITE_OK
           : err == -ENOMEM                  ? SQLITE_NOMEM
           : err == HS_FLAMEGRAPH_E_OVERFLOW ? fail(query, "a sum of values exceeds 64 bits")
                                             : fail(query, "the flame graph becomes too large");
}

int hs_flamegraph_query(const struct hs_flamegraph_source *source, const void *config,
                        size_t config_bytes, struct hs_flamegraph_result *ret_result,
                        char **ret_error)
{
    struct query query = { .source = source, .result = ret_result, .error = ret_error };
    char error[HS_PATTERN_ERROR_BYTES] = "no memory";
    memset(ret_result, 0, sizeof(*ret_result));
    ret_result->config = calloc(1, sizeof(*ret_result->config));
    ret_result->config_bytes = malloc(config_bytes + 1);
    int code = ret_result->config && ret_result->config_bytes ? SQLITE_OK : SQLITE_NOMEM;
    if (code == SQLITE_OK && config_bytes > 0) {
        memcpy(ret_result->config_bytes, config, config_bytes);
    }
    if (code == SQLITE_OK && hs_flamegraph_config_read(ret_result->config_bytes, config_bytes,
                                                       ret_result->config, error) < 0) {
        code = fail(&query, error);
    }
    code = code ? code : read_values(&query);
    code = code ? code : check_aggregates(&query);
    code = code ? code : make_patterns(&query);
    code = code ? code : make_keys(&query);
    code = code ? code : make_graph(&query);
    for (size_t i = 0; i < HS_FLAMEGRAPH_VALUES_MAX; i++) {
        free(query.values[i]);
    }
    for (size_t i = 0; i <= HS_FLAMEGRAPH_LIST_MAX; i++) {
        hs_pattern_free(query.patterns[i]);
    }
    hs_intern_deinit(&query.keys);
    free(query.node_keys);
    free(query.matches);
    if (code != SQLITE_OK) {
        hs_flamegraph_result_deinit(ret_result);
    }
    return code;
}
