/*
 * The tables of what the resident memory consists of, of parts and of blocks: those of our own
 * tables whose rows name nodes of heapscope_nodes.
 *
 * Threads   one user.
 * Fails     through store->err.
 * See       own_tables.h, docs/SQL.md
 */
#pragma once

#include "profile/model/profile.h"
#include "sql/store/sql_store.h"

/* The row of heapscope_nodes that a node's innermost function has. `node_rows`: by node, and one
 * behind the last: its first row. */
static inline uint32_t hs_own_row_of_node(const uint32_t *node_rows, uint32_t node)
{
    return node_rows[node + 1] - 1;
}

/* Fills heapscope_ledger, heapscope_mapped_stacks and heapscope_pinned_pages. */
void hs_own_ledgers_add(struct hs_sql_store *store, const struct hs_profile *p,
                        const uint32_t *node_rows);
/* own_births.c: fills heapscope_births. */
void hs_own_births_add(struct hs_sql_store *store, const struct hs_profile *p,
                       const uint32_t *node_rows);
/* own_lifetimes.c: fills heapscope_lifetimes. */
void hs_own_lifetimes_add(struct hs_sql_store *store, const struct hs_profile *p,
                          const uint32_t *node_rows);
/* own_blocks.c: fills heapscope_blocks. */
void hs_own_blocks_add(struct hs_sql_store *store, const struct hs_profile *p,
                       const uint32_t *node_rows);
/* own_parts.c: fills heapscope_parts. */
void hs_own_parts_add(struct hs_sql_store *store, const struct hs_profile *p,
                      const uint32_t *node_rows);
