/*
 * The tree of experimental_flamegraph: the call sites of a profile, merged by name, mapping and caller, with what was
 * allocated and freed below each up to an instant.
 *
 * Every call site of the database has its node, with zeros when this process allocated nothing there: that is what
 * readers of this table know. Inlined functions are nodes of their own, outermost first.
 *
 * Holds     parents come before children.
 * Fails     an SQLite error code, with a text for sqlite3_free().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "sql/stack_forest.h"

enum hs_heap_value {
    HS_HEAP_COUNT,
    HS_HEAP_SIZE,
    HS_HEAP_ALLOC_COUNT,
    HS_HEAP_ALLOC_SIZE,
    HS_HEAP_VALUE_N,
};

struct hs_heap_node {
    uint32_t parent, depth;               /* UINT32_MAX at roots */
    uint32_t name, map_name, source_file; /* texts of the forest's frames, or HS_STACK_NO_TEXT */
    int64_t line_number;                  /* 0: none, or different ones */
    bool has_several_sources, is_focused, is_shown;
    int64_t self[HS_HEAP_VALUE_N], cumulative[HS_HEAP_VALUE_N];
};

struct hs_heap_flamegraph {
    struct hs_heap_node *nodes;
    uint32_t node_count;
};

/* focus: NULL, or what names must contain, in any case. */
int hs_heap_flamegraph_make(sqlite3 *db, struct hs_stack_forest *forest, int64_t ts, int64_t upid,
                            const char *focus, struct hs_heap_flamegraph **ret_graph,
                            char **ret_error);
struct hs_heap_flamegraph *hs_heap_flamegraph_free(struct hs_heap_flamegraph *graph);
