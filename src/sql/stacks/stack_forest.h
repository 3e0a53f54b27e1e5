/*
 * Call sites with their inlined functions as separate nodes: a forest, with the outermost functions
 * at its roots.
 *
 * Nodes are numbered by call site, and within a site from the outermost function inwards. So the
 * nodes of a site are adjacent, and the last one is its leaf. A site whose frame is not in the
 * database has no nodes.
 *
 * The forest is made when it is first needed, and lives as long as the session, because the tables
 * of a trace do not change.
 *
 * Threads   one user.
 * Fails     an SQLite error code, with a text for sqlite3_free().
 */
#pragma once

#include "sql/stacks/stack_frames.h"
#include "sql/stacks/stack_sites.h"

struct hs_stack_forest {
    struct hs_stack_sites sites;
    struct hs_stack_frames frames;
    uint32_t *site_frames; /* by site; HS_STACK_NONE: its frame is not in the database */
    uint32_t *firsts;      /* by site, with one more element at the end: its first node */
    uint32_t *node_sites;  /* by node */
    uint32_t node_count;
    bool is_made;
    /* Guards against recursion: a view of the database can read a table that is being made from
     * that view. */
    bool is_loading, is_in_flamegraph;
};

/* Frees the forest. */
void hs_stack_forest_deinit(struct hs_stack_forest *forest);
/* Makes the forest if it has not been made yet. */
int hs_stack_forest_need(sqlite3 *db, struct hs_stack_forest *forest, char **ret_error);

static inline const struct hs_stack_frame *
hs_stack_forest_frame(const struct hs_stack_forest *forest, uint32_t site)
{
    uint32_t frame = forest->site_frames[site];
    return frame == HS_STACK_NONE ? NULL : &forest->frames.frames[frame];
}

/* Is this the innermost function of its call site? */
static inline bool hs_stack_forest_is_leaf(const struct hs_stack_forest *forest, uint32_t node)
{
    return node + 1 == forest->firsts[forest->node_sites[node] + 1];
}

enum hs_stack_fact {
    HS_STACK_FACT_ID,
    HS_STACK_FACT_PARENT_ID,
    HS_STACK_FACT_CALLSITE_ID,
    HS_STACK_FACT_NAME,
    HS_STACK_FACT_MAPPING_NAME,
    HS_STACK_FACT_SOURCE_FILE,
    HS_STACK_FACT_LINE_NUMBER,
    HS_STACK_FACT_INLINED,
    HS_STACK_FACT_IS_LEAF,
};

/* Sets the context's result to one fact about a node. */
void hs_stack_forest_result(const struct hs_stack_forest *forest, uint32_t node,
                            enum hs_stack_fact fact, sqlite3_context *context);

/* Registers the table of all nodes of a session's forest. Returns 0 or an SQLite error code. */
int hs_stack_forest_register(sqlite3 *db, struct hs_stack_forest *forest);
