/*
 * Makes one flame graph from the stored rows, as a configuration describes it.
 *
 * Fails     an SQLite error code, with a text for sqlite3_free().
 */
#pragma once

#include "sql/flamegraph/flamegraph_config.h"
#include "sql/flamegraph/flamegraph_source.h"

struct hs_flamegraph_result {
    struct hs_flamegraph *graph;
    struct hs_flamegraph_config *config;
    /* the blob that the texts of `config` point into */
    void *config_bytes;
    size_t value_columns[HS_FLAMEGRAPH_VALUES_MAX]; /* by value: its column in the source */
};

/* Makes the graph from the blob of a configuration. Returns 0 or an SQLite error code with
 * *ret_error set. */
int hs_flamegraph_query(const struct hs_flamegraph_source *source, const void *config,
                        size_t config_bytes, struct hs_flamegraph_result *ret_result,
                        char **ret_error);
/* Frees the graph and the configuration. */
void hs_flamegraph_result_deinit(struct hs_flamegraph_result *result);

/* Sets the context's result to the value of a property for a node. */
void hs_flamegraph_property(const struct hs_flamegraph_source *source,
                            const struct hs_flamegraph_result *result, uint32_t node, size_t column,
                            sqlite3_context *context);
