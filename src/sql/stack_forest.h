/*
 * Call sites with their inlined functions as nodes of their own: a forest, outermost functions at its roots.
 *
 * Nodes are numbered by call site, a site's functions from the outermost one on; so a site's nodes follow each other,
 * and the last is its leaf. A site whose frame is not in the database has none.
 *
 * It is made when something first asks for it, and stays with the session: tables of a trace do not change.
 *
 * Threads   one user.
 * Fails     an SQLite error code, with a text for sqlite3_free().
 */
#pragma once

#include "sql/stack_frames.h"
#include "sql/stack_sites.h"

struct hs_stack_forest {
    struct hs_stack_sites sites;
    struct hs_stack_frames frames;
    uint32_t *site_frames; /* by site; HS_STACK_NONE: its frame is not there */
    uint32_t *firsts;      /* by site, and one behind the last: its first node */
    uint32_t *node_sites;  /* by node */
    uint32_t node_count;
    bool is_made;
    /* Views of a database's may lead back to what reads them. */
    bool is_loading, is_in_flamegraph;
};

void hs_stack_forest_deinit(struct hs_stack_forest *forest);
/* Makes sure that it is made. */
int hs_stack_forest_need(sqlite3 *db, struct hs_stack_forest *forest, char **ret_error);

static inline const struct hs_stack_frame *
hs_stack_forest_frame(const struct hs_stack_forest *forest, uint32_t site)
{
    uint32_t frame = forest->site_frames[site];
    return frame == HS_STACK_NONE ? NULL : &forest->frames.frames[frame];
}

static inline bool hs_stack_forest_is_leaf(const struct hs_stack_forest *forest, uint32_t node)
{
    return node + 1 == forest->firsts[forest->node_sites[node] + 1];
}

/* HS_STACK_NONE: a root. */
uint32_t hs_stack_forest_parent(const struct hs_stack_forest *forest, uint32_t node);

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

/* What the tables tell of a node. */
void hs_stack_forest_result(const struct hs_stack_forest *forest, uint32_t node,
                            enum hs_stack_fact fact, sqlite3_context *context);

/* The table of all nodes, for a session's forest; 0 or an SQLite error code. */
int hs_stack_forest_register(sqlite3 *db, struct hs_stack_forest *forest);
