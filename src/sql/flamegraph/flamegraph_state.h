/*
 * The two halves of making a flame graph: flamegraph_filter.c applies the filters, and flamegraph.c
 * grows the graph from the nodes that remain.
 */
#pragma once

#include "sql/flamegraph/flamegraph.h"

/* What the filters leave of the input, by node. */
struct hs_flamegraph_rest {
    uint32_t *callers; /* the nearest caller that is shown; NONE: none */
    int64_t *self;     /* [node * value_count + value]; 0 if the stack is dropped */
    int64_t *sums;     /* the same, including all nodes below; only for shown nodes */
    /* not hidden, and at or below the view's frame; in a pivot also above it */
    bool *is_shown;
    bool *is_root;         /* the downward half begins at this node */
    bool *is_folded;       /* hidden, and its values were added to its caller */
    uint32_t *first_child; /* children[first_child[n + 1] .. first_child[n + 2]) */
    uint32_t *children;    /* shown nodes, grouped by caller */
};

/* Fills `rest`. Returns 0, -ENOMEM, or HS_FLAMEGRAPH_E_* with *ret_bad_node set. */
int hs_flamegraph_filter(const struct hs_flamegraph_input *input, struct hs_flamegraph_rest *rest,
                         uint32_t *ret_bad_node);
/* Frees the arrays. */
void hs_flamegraph_rest_deinit(struct hs_flamegraph_rest *rest);
