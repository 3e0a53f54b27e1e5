/*
 * The halves of a flame graph in the making: what the filters leave (flamegraph_filter.c), and what grows from it
 * (flamegraph.c).
 */
#pragma once

#include "sql/flamegraph.h"

/* What is left of the input: by node. */
struct hs_flamegraph_rest {
    uint32_t *callers;     /* the next node up that is shown; NONE: none */
    int64_t *self;         /* [node * value_count + value], 0 where the stack is dropped */
    int64_t *sums;         /* the same with all below; of shown nodes */
    bool *is_shown;        /* not folded into its caller, and below the view's frame */
    bool *is_root;         /* the downward half begins here */
    bool *is_folded;       /* hidden, and its caller has its values */
    uint32_t *first_child; /* children[first_child[n + 1] .. first_child[n + 2]) */
    uint32_t *children;    /* shown nodes by caller */
};

int hs_flamegraph_filter(const struct hs_flamegraph_input *input, struct hs_flamegraph_rest *rest,
                         uint32_t *ret_bad_node);
void hs_flamegraph_rest_deinit(struct hs_flamegraph_rest *rest);
