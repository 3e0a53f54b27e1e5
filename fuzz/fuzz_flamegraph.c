/*
 * Fuzz target: a call tree and a configuration, and the flame graph that is built from them.
 *
 * The input is a byte with the number of nodes, four bytes per node (parent, name, value, sign),
 * then a configuration as __intrinsic_flamegraph_config() packs it.
 */
#include <stdint.h>
#include <stdlib.h>

#include "sql/flamegraph/flamegraph_query.h"
#include "sql/language/sql_session.h"
#include "util/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *query_of(const uint8_t *data, size_t count)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendall(text,
                          "SELECT * FROM (SELECT 1 AS id, 1 AS parent_id, 'n' AS name, 1 AS value, "
                          "'p' AS p WHERE 0");
    for (size_t i = 0; i < count; i++) {
        const uint8_t *node = data + 4 * i;
        int64_t value = node[3] > 250 ? INT64_MAX / 2 : (int64_t)node[2] - (node[3] == 9 ? 99 : 0);
        sqlite3_str_appendf(text, " UNION ALL SELECT %d, NULLIF(%d, 0), '%c', %lld, '%c'",
                            (int)i + 1, (int)node[0], 'a' + node[1] % 8, (long long)value,
                            'p' + node[3] % 4);
    }
    sqlite3_str_appendall(text, ")");
    return sqlite3_str_finish(text);
}

static void check(const struct hs_flamegraph *graph)
{
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct hs_flamegraph_node *node = &graph->nodes[i];
        const struct hs_flamegraph_node *parent =
            node->parent == HS_FLAMEGRAPH_NONE ? NULL : &graph->nodes[node->parent];
        /* Parents must come first, and their range must contain that of their children. */
        if ((parent && (node->parent >= i || node->x_start < parent->x_start ||
                        node->x_end > parent->x_end)) ||
            node->x_end < node->x_start || node->entry_count == 0) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t count = size > 0 ? data[0] % 64 : 0;
    if (size < 1 + 4 * count) {
        return 0;
    }
    sqlite3 *db = NULL;
    struct hs_flamegraph_source *source = NULL;
    struct hs_flamegraph_result result;
    char *error = NULL, *query = query_of(data + 1, count);
    const uint8_t *config = data + 1 + 4 * count;
    if (query && sqlite3_open(":memory:", &db) == SQLITE_OK &&
        hs_flamegraph_source_load(db, query, &source, &error) == SQLITE_OK &&
        hs_flamegraph_query(source, config, size - 1 - 4 * count, &result, &error) == SQLITE_OK) {
        check(result.graph);
        hs_flamegraph_result_deinit(&result);
    }
    sqlite3_free(error);
    sqlite3_free(query);
    hs_flamegraph_source_free(source);
    sqlite3_close(db);
    return 0;
}
