/*
 * What is asked of a flame graph: __intrinsic_flamegraph_config('view', 'TOP_DOWN', 'filter', ...).
 *
 * The function checks its arguments and packs them into a blob, which the table unpacks: an argument of a table can
 * be one value only. A blob may come from anywhere, so it is checked again.
 *
 * Holds     strings point into the blob, which must stay.
 * Fails     -EINVAL with what is wrong.
 */
#pragma once

#include <sqlite3.h>

#include "sql/flamegraph.h"
#include "sql/pattern.h"

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

/* error: HS_PATTERN_ERROR_BYTES. No bytes are the defaults. */
int hs_flamegraph_config_read(const void *blob, size_t bytes,
                              struct hs_flamegraph_config *ret_config, char *error);

bool hs_flamegraph_word_is(struct hs_flamegraph_word word, const char *text);

/* __intrinsic_flamegraph_config() */
int hs_flamegraph_config_register(sqlite3 *db);
