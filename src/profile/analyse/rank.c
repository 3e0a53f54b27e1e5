/*
 * See rank.h.
 */
#include "profile/analyse/rank.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const struct hs_rank *x = a, *y = b;
    if (x->weight != y->weight) {
        return x->weight > y->weight ? -1 : 1;
    }
    if (x->size != y->size) {
        return x->size > y->size ? -1 : 1;
    }
    return x->id < y->id ? -1 : x->id > y->id;
}

void hs_rank_sort(struct hs_rank *ranks, uint32_t count, uint32_t *ret_ids)
{
    qsort(ranks, count, sizeof(*ranks), compare);
    for (uint32_t i = 0; i < count; i++) {
        ret_ids[i] = ranks[i].id;
    }
}
