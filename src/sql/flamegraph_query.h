/*
 * One flame graph: the kept rows, seen as a configuration asks.
 *
 * Fails     an SQLite error code, with a text for sqlite3_free().
 */
#pragma once

#include "sql/flamegraph_config.h"
#include "sql/flamegraph_source.h"

struct hs_flamegraph_result {
    struct hs_flamegraph *graph;
    struct hs_flamegraph_config *config;
    void *config_bytes;                             /* what its words point into */
    size_t value_columns[HS_FLAMEGRAPH_VALUES_MAX]; /* of the source, by value */
};

int hs_flamegraph_query(const struct hs_flamegraph_source *source, const void *config,
                        size_t config_bytes, struct hs_flamegraph_result *ret_result,
                        char **ret_error);
void hs_flamegraph_result_deinit(struct hs_flamegraph_result *result);

/* The value of a property for a node, as the context's result. */
void hs_flamegraph_property(const struct hs_flamegraph_source *source,
                            const struct hs_flamegraph_result *result, uint32_t node, size_t column,
                            sqlite3_context *context);
