/* See tree_order.h. */
#include "sql/stacks/tree_order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* Lists the children of each node, in one array: those of p are children[first[p] .. first[p +
 * 1]). */
static void list_children(const uint32_t *parents, uint32_t count, uint32_t *first,
                          uint32_t *children)
{
    for (uint32_t i = 0; i < count; i++) {
        if (parents[i] != HS_TREE_NO_PARENT) {
            first[parents[i]]++;
        }
    }
    for (uint32_t i = 0, sum = 0; i <= count; i++) {
        sum += first[i];
        first[i] = sum; /* the end of the list; filling from the back makes it the start */
    }
    for (uint32_t i = count; i-- > 0;) {
        if (parents[i] != HS_TREE_NO_PARENT) {
            children[--first[parents[i]]] = i;
        }
    }
}

static uint32_t first_missing(const uint32_t *order, uint32_t ordered_count, uint32_t count)
{
    uint32_t missing = 0;
    bool *is_ordered = calloc((size_t)count + 1, sizeof(bool));
    for (uint32_t i = 0; is_ordered && i < ordered_count; i++) {
        is_ordered[order[i]] = true;
    }
    while (is_ordered && missing + 1 < count && is_ordered[missing]) {
        missing++;
    }
    free(is_ordered);
    return missing;
}

int hs_tree_order(const uint32_t *parents, uint32_t count, uint32_t *ret_order,
                  uint32_t *ret_ordered_count, uint32_t *ret_bad_node)
{
    uint32_t *first = calloc((size_t)count + 1, sizeof(uint32_t));
    uint32_t *children = calloc((size_t)count + 1, sizeof(uint32_t));
    uint32_t ordered = 0;
    int err = first && children ? 0 : -ENOMEM;
    if (err == 0) {
        list_children(parents, count, first, children);
        for (uint32_t i = 0; i < count; i++) {
            if (parents[i] == HS_TREE_NO_PARENT) {
                ret_order[ordered++] = i;
            }
        }
        for (uint32_t done = 0; done < ordered; done++) {
            uint32_t node = ret_order[done];
            for (uint32_t c = first[node]; c < first[node + 1]; c++) {
                ret_order[ordered++] = children[c];
            }
        }
        *ret_ordered_count = ordered;
        if (ordered < count) {
            *ret_bad_node = first_missing(ret_order, ordered, count);
            err = HS_TREE_E_CYCLE;
        }
    }
    free(first);
    free(children);
    return err;
}
