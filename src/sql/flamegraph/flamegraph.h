/*
 * Flame graphs: takes a tree of calls, and returns a merged and filtered tree with positions on an
 * axis.
 *
 * A node of the result stands for all input nodes that have the same names on their path. The
 * result grows level by level: first the roots are grouped by name; then the next steps of all
 * input nodes in a group (children when growing down, callers when growing up) are grouped in turn.
 * Growing down, each input node is in one group, so the effort is linear. Growing up, paths to the
 * same caller are added up when they meet, and the total number of steps is bounded.
 *
 * Holds     result nodes are ordered by depth, parents first; siblings by falling value, those of
 *           equal value in the order of the input. Depth is 1, 2, ... downwards and -1, -2, ...
 *           upwards.
 * Threads   no state.
 * Fails     -ENOMEM, -E2BIG (more than HS_FLAMEGRAPH_ENTRIES_MAX steps); HS_FLAMEGRAPH_E_* and the
 *           node at fault.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/check.h"

#define HS_FLAMEGRAPH_NONE        UINT32_MAX
#define HS_FLAMEGRAPH_NODES_MAX   (1U << 28)
#define HS_FLAMEGRAPH_ENTRIES_MAX (50U * 1000 * 1000)
#define HS_FLAMEGRAPH_SHOW_MAX    61 /* patterns that must all match */
#define HS_FLAMEGRAPH_VALUES_MAX  16

enum hs_flamegraph_error {
    HS_FLAMEGRAPH_E_DUPLICATE = 1, /* two nodes have this id */
    HS_FLAMEGRAPH_E_ORPHAN,        /* the node's parent does not exist */
    HS_FLAMEGRAPH_E_CYCLE,         /* the node is its own ancestor */
    HS_FLAMEGRAPH_E_NEGATIVE,      /* the node's first value is negative */
    HS_FLAMEGRAPH_E_OVERFLOW,      /* a sum exceeds 64 bits */
};

enum hs_flamegraph_view {
    HS_FLAMEGRAPH_TOP_DOWN,
    HS_FLAMEGRAPH_BOTTOM_UP,
    HS_FLAMEGRAPH_PIVOT,      /* from the outermost matching frame in both directions */
    HS_FLAMEGRAPH_FROM_FRAME, /* from the outermost matching frame downwards */
    HS_FLAMEGRAPH_VIEW_N,
};

/* The result of matching all filters against a node. */
struct hs_flamegraph_match {
    uint64_t show; /* bit i: pattern i matches */
    bool is_hiding_stack, is_hiding_frame, is_view;
};

struct hs_flamegraph_input {
    uint32_t node_count;
    const uint32_t *parents; /* by node; HS_FLAMEGRAPH_NONE for roots */
    const uint32_t *order;   /* nodes, parents before children */
    const uint32_t *keys;    /* by node: nodes with equal keys can be merged */
    uint32_t key_count;
    const struct hs_flamegraph_match *matches; /* by key */
    size_t value_count;                        /* 1 .. HS_FLAMEGRAPH_VALUES_MAX */
    const int64_t *const *values;              /* [value][node] */
    enum hs_flamegraph_view view;
    uint64_t show_all; /* the bits that must all be set on a stack for it to be kept */
};

struct hs_flamegraph_node {
    uint32_t parent; /* HS_FLAMEGRAPH_NONE for roots */
    uint32_t key;
    int32_t depth;
    uint32_t first_entry, entry_count; /* the input nodes that it stands for */
    /* these input nodes, and the hidden ones that were folded into them */
    uint32_t first_row, row_count;
    int64_t x_start, x_end;
};

struct hs_flamegraph {
    struct hs_flamegraph_node *nodes;
    uint32_t node_count;
    uint32_t *entries; /* input nodes */
    uint32_t *rows;    /* input nodes; NULL: no node was folded, and rows are entries */
    size_t value_count;
    int64_t *self, *cumulative;             /* [node * value_count + value] */
    double total[HS_FLAMEGRAPH_VALUES_MAX]; /* sums of the input, independent of the filters */
};

/* Finds each node's parent by its id, and an order with parents before children. Both outputs have
 * node_count elements. If the result is positive, *ret_bad_node is the node at fault. */
int hs_flamegraph_link(const int64_t *ids, const int64_t *parent_ids, const bool *has_parent,
                       uint32_t node_count, uint32_t *ret_parents, uint32_t *ret_order,
                       uint32_t *ret_bad_node);

/* Makes the graph. If the result is positive, *ret_bad_node is the node at fault. */
int hs_flamegraph_make(const struct hs_flamegraph_input *input, struct hs_flamegraph **ret_graph,
                       uint32_t *ret_bad_node);
/* NULL is allowed. Returns NULL. */
struct hs_flamegraph *hs_flamegraph_free(struct hs_flamegraph *graph);

#if HS_HAS_CHECKS
/* For tests: whether the order and the depths of all nodes are as stated under Holds. */
bool hs_flamegraph_is_valid(const struct hs_flamegraph *graph);
#endif
