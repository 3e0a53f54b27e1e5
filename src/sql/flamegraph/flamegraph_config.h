/*
 * The configuration of a flame graph: __intrinsic_flamegraph_config('view', 'TOP_DOWN', 'filter',
 * ...).
 *
 * The SQL function checks its arguments and packs them into a blob, which the flame graph's table
 * unpacks, because an argument of a table can only be a single value. A blob can come from any
 * source, so the table checks it again.
 *
 * Requires  the blob stays valid as long as the configuration, whose texts point into it.
 * Fails     -EINVAL with a message.
 */
#pragma once

#include <sqlite3.h>

#include "sql/flamegraph/flamegraph.h"
#include "sql/language/pattern.h"

#define HS_FLAMEGRAPH_LIST_MAX   128
#define HS_FLAMEGRAPH_WORD_BYTES 256

struct hs_flamegraph_word {
    const char *text; /* not ended by NUL */
    size_t bytes;
};

enum hs_flamegraph_filter_kind {
    HS_FLAMEGRAPH_SHOW_STACK,
    HS_FLAMEGRAPH_HIDE_STACK,
    HS_FLAMEGRAPH_HIDE_FRAME,
    HS_FLAMEGRAPH_FILTER_N,
};

enum hs_flamegraph_aggregate_kind {
    HS_FLAMEGRAPH_SUM,
    HS_FLAMEGRAPH_ONE_OR_SUMMARY,
    HS_FLAMEGRAPH_CONCAT_WITH_COMMA,
    HS_FLAMEGRAPH_AGGREGATE_N,
};

struct hs_flamegraph_config {
    unsigned view; /* enum hs_flamegraph_view */
    struct hs_flamegraph_word view_pattern;
    bool has_view_pattern, is_view_caseless;
    struct {
        unsigned kind;
        struct hs_flamegraph_word pattern;
        bool is_caseless;
    } filters[HS_FLAMEGRAPH_LIST_MAX];
    struct {
        unsigned kind;
        struct hs_flamegraph_word in, out;
    } aggregates[HS_FLAMEGRAPH_LIST_MAX];
    struct hs_flamegraph_word groupings[HS_FLAMEGRAPH_LIST_MAX];
    struct hs_flamegraph_word values[HS_FLAMEGRAPH_VALUES_MAX];
    size_t filter_count, show_count, aggregate_count, grouping_count, value_count;
};

/* Unpacks and checks a blob; an empty one yields the defaults. `error` has HS_PATTERN_ERROR_BYTES.
 * Returns 0 or -EINVAL. */
int hs_flamegraph_config_read(const void *blob, size_t bytes,
                              struct hs_flamegraph_config *ret_config, char *error);

/* Is the word equal to this text? */
bool hs_flamegraph_word_is(struct hs_flamegraph_word word, const char *text);

/* Registers the function. Returns 0 or an SQLite error code. */
int hs_flamegraph_config_register(sqlite3 *db);
