/*
 * An order of the nodes of trees in which each parent comes before its children.
 *
 * Threads   no state.
 * Fails     -ENOMEM, or HS_TREE_E_CYCLE.
 */
#pragma once

#include <stdint.h>

#define HS_TREE_NO_PARENT UINT32_MAX /* as the parent of a root */

enum {
    HS_TREE_E_CYCLE = 1, /* a node is its own ancestor */
};

/* parents: `count` indices of nodes. ret_order has room for `count` nodes. Returns 0, -ENOMEM or
 * HS_TREE_E_CYCLE: then *ret_bad_node is one of the nodes that are on a cycle or below one, which
 * are not among the *ret_ordered_count. */
int hs_tree_order(const uint32_t *parents, uint32_t count, uint32_t *ret_order,
                  uint32_t *ret_ordered_count, uint32_t *ret_bad_node);
