/*
 * Flame graphs: a tree of calls in, a merged and filtered tree with places on an axis out.
 *
 * A node of the result stands for all nodes of the input with the same names on the way to them. It is made by
 * growing: the roots are grouped by name; then, level by level, the next steps (children downwards, callers
 * upwards) of all the input nodes in a group are grouped in turn. Downwards each input node is in one group, so
 * that is linear; upwards, ways to the same caller are added up as they meet, and the total is bounded.
 *
 * Holds     result nodes come parents first, by depth; siblings by falling value, equal ones in the order of the
 *           input. Depth is 1, 2, ... downwards and -1, -2, ... upwards.
 * Threads   no state.
 * Fails     -ENOMEM, -E2BIG (more than HS_FLAMEGRAPH_ENTRIES_MAX steps); HS_FLAMEGRAPH_E_* with the node.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_FLAMEGRAPH_NONE        UINT32_MAX
#define HS_FLAMEGRAPH_NODES_MAX   (1U << 28)
#define HS_FLAMEGRAPH_ENTRIES_MAX (50U * 1000 * 1000)
#define HS_FLAMEGRAPH_SHOW_MAX    61 /* patterns that must all match */
#define HS_FLAMEGRAPH_VALUES_MAX  16

enum hs_flamegraph_error {
    HS_FLAMEGRAPH_E_DUPLICATE = 1, /* two nodes with this id */
    HS_FLAMEGRAPH_E_ORPHAN,        /* its parent is not there */
    HS_FLAMEGRAPH_E_CYCLE,         /* it is its own ancestor */
    HS_FLAMEGRAPH_E_NEGATIVE,      /* in the first value */
    HS_FLAMEGRAPH_E_OVERFLOW,      /* a sum leaves 64 bits */
};

enum hs_flamegraph_view {
    HS_FLAMEGRAPH_TOP_DOWN,
    HS_FLAMEGRAPH_BOTTOM_UP,
    HS_FLAMEGRAPH_PIVOT,      /* from the outermost matching frame both ways */
    HS_FLAMEGRAPH_FROM_FRAME, /* from the outermost matching frame down */
    HS_FLAMEGRAPH_VIEW_N,
};

/* What the filters say of a name. */
struct hs_flamegraph_match {
    uint64_t show; /* bit i: pattern i matches */
    bool is_hiding_stack, is_hiding_frame, is_view;
};

struct hs_flamegraph_input {
    uint32_t node_count;
    const uint32_t *parents; /* by node; HS_FLAMEGRAPH_NONE at roots */
    const uint32_t *order;   /* nodes, parents before children */
    const uint32_t *keys;    /* by node: what must be equal to be merged */
    uint32_t key_count;
    const struct hs_flamegraph_match *matches; /* by key */
    size_t value_count;                        /* 1 .. HS_FLAMEGRAPH_VALUES_MAX */
    const int64_t *const *values;              /* [value][node] */
    enum hs_flamegraph_view view;
    uint64_t show_all; /* bits that a stack must have met */
};

struct hs_flamegraph_node {
    uint32_t parent; /* HS_FLAMEGRAPH_NONE at roots */
    uint32_t key;
    int32_t depth;
    uint32_t first_entry, entry_count; /* the input nodes that it stands for */
    uint32_t first_row, row_count;     /* these and the hidden ones that were folded into them */
    int64_t x_start, x_end;
};

struct hs_flamegraph {
    struct hs_flamegraph_node *nodes;
    uint32_t node_count;
    uint32_t *entries; /* input nodes */
    uint32_t *rows;    /* input nodes; NULL: nothing was folded, rows are entries */
    size_t value_count;
    int64_t *self, *cumulative;             /* [node * value_count + value] */
    double total[HS_FLAMEGRAPH_VALUES_MAX]; /* of the input, whatever the filters leave */
};

/*
 * An order of nodes with parents before children; ret_order has room for `count`. HS_FLAMEGRAPH_E_CYCLE: *ret_bad_node is
 * one of those that hang on a circle, which are not among the *ret_ordered_count.
 */
int hs_flamegraph_order(const uint32_t *parents, uint32_t count, uint32_t *ret_order,
                        uint32_t *ret_ordered_count, uint32_t *ret_bad_node);

/*
 * Finds each node's parent by its id, and an order with parents before children; both outputs have
 * node_count elements. On a positive result *ret_bad_node is the node that it is about.
 */
int hs_flamegraph_link(const int64_t *ids, const int64_t *parent_ids, const bool *has_parent,
                       uint32_t node_count, uint32_t *ret_parents, uint32_t *ret_order,
                       uint32_t *ret_bad_node);

int hs_flamegraph_make(const struct hs_flamegraph_input *input, struct hs_flamegraph **ret_graph,
                       uint32_t *ret_bad_node);
struct hs_flamegraph *hs_flamegraph_free(struct hs_flamegraph *graph);
