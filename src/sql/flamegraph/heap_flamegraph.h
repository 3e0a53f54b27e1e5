/*
 * The tree of experimental_flamegraph: the call sites of a profile, merged by name, mapping and
 * caller, with what was allocated and freed below each of them up to an instant.
 *
 * Every call site of the database has a node, with zeros if this process allocated nothing there,
 * because existing users of this table expect that. Inlined functions are separate nodes, outermost
 * first.
 *
 * Holds     parents come before children.
 * Fails     an SQLite error code, with a text for sqlite3_free().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "sql/stacks/stack_forest.h"

enum hs_heap_value {
    HS_HEAP_COUNT,
    HS_HEAP_SIZE,
    HS_HEAP_ALLOC_COUNT,
    HS_HEAP_ALLOC_SIZE,
    HS_HEAP_VALUE_N,
};

struct hs_heap_node {
    uint32_t parent, depth;               /* UINT32_MAX for roots */
    uint32_t name, map_name, source_file; /* texts of the forest's frames, or HS_STACK_NO_TEXT */
    int64_t line_number;                  /* 0: none, or several different ones */
    bool has_several_sources, is_focused, is_shown;
    int64_t self[HS_HEAP_VALUE_N], cumulative[HS_HEAP_VALUE_N];
};

struct hs_heap_flamegraph {
    struct hs_heap_node *nodes;
    uint32_t node_count;
};

/* Makes the tree. `focus` is NULL, or a text that one of a stack's names must contain, in upper or
 * lower case. Returns 0 or an SQLite error code with *ret_error set. */
int hs_heap_flamegraph_make(sqlite3 *db, struct hs_stack_forest *forest, int64_t ts, int64_t upid,
                            const char *focus, struct hs_heap_flamegraph **ret_graph,
                            char **ret_error);
/* NULL is allowed. Returns NULL. */
struct hs_heap_flamegraph *hs_heap_flamegraph_free(struct hs_heap_flamegraph *graph);
