/*
 * Copies and frees pinned pages: see pinned_pages.h.
 */
#include "trace/pinned_pages.h"

#include <stdlib.h>
#include <string.h>

struct hs_pinned_pages *hs_pinned_pages_copy(const struct hs_pinned_pages *pins)
{
    struct hs_pinned_pages *copy = malloc(sizeof(*copy));
    struct hs_pinning_stack *stacks = calloc((size_t)pins->stack_count + 1, sizeof(stacks[0]));
    if (!copy || !stacks) {
        free(copy);
        free(stacks);
        return NULL;
    }
    *copy = *pins;
    copy->stacks = stacks;
    if (pins->stack_count > 0) {
        memcpy(stacks, pins->stacks, pins->stack_count * sizeof(stacks[0]));
    }
    return copy;
}

void hs_pinned_pages_free(struct hs_pinned_pages *pins)
{
    if (pins) {
        free(pins->stacks);
        free(pins);
    }
}
