/*
 * Adds up mapped memory by stack: see mapped_sums.h.
 */
#include "profile/analyse/mapped_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "util/array.h"

static const struct hs_profile_ledger *ledger_of(const struct hs_selection *selection, uint32_t i)
{
    const struct hs_profile *p = selection->profile;
    uint32_t idx = p->dumps[selection->dumps[i]].ledger;
    return idx > 0 && idx <= p->ledger_count ? &p->ledgers[idx - 1] : NULL;
}

static int compare_nodes(const void *a, const void *b)
{
    const struct hs_profile_mapped_stack *x = a, *y = b;
    return x->node < y->node ? -1 : x->node > y->node;
}

static void add(void *sum, void *item)
{
    struct hs_profile_mapped_stack *to = sum;
    const struct hs_profile_mapped_stack *from = item;
    to->count += from->count;
    to->size_bytes += from->size_bytes;
    to->rss_bytes += from->rss_bytes;
    to->swap_bytes += from->swap_bytes;
}

static int compare_sizes(const void *a, const void *b)
{
    const struct hs_profile_mapped_stack *x = a, *y = b;
    if (x->rss_bytes != y->rss_bytes) {
        return x->rss_bytes > y->rss_bytes ? -1 : 1;
    }
    if (x->size_bytes != y->size_bytes) {
        return x->size_bytes > y->size_bytes ? -1 : 1;
    }
    return compare_nodes(a, b);
}

int hs_mapped_sums_of(const struct hs_selection *selection, const uint32_t *node_of,
                      struct hs_mapped_sums *ret_sums)
{
    const struct hs_profile *p = selection->profile;
    struct hs_mapped_sums sums = { 0 };
    size_t count = 0;
    for (uint32_t i = 0; i < selection->dump_count; i++) {
        const struct hs_profile_ledger *ledger = ledger_of(selection, i);
        count += ledger ? ledger->stacks_n : 0;
    }
    sums.stacks = calloc(count + 1, sizeof(sums.stacks[0]));
    if (!sums.stacks) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < selection->dump_count; i++) {
        const struct hs_profile_ledger *ledger = ledger_of(selection, i);
        for (uint32_t k = 0; ledger && k < ledger->stacks_n; k++) {
            struct hs_profile_mapped_stack *stack = &sums.stacks[sums.stack_count++];
            *stack = p->mapped_stacks[ledger->stack_first + k];
            stack->node = stack->node < p->node_count ? node_of[stack->node] : HS_NODE_NONE;
            add(&sums.all, stack);
        }
    }
    sums.stack_count = (uint32_t)hs_array_merge(sums.stacks, sums.stack_count,
                                                sizeof(sums.stacks[0]), compare_nodes, add);
    if (sums.stack_count > 1) {
        qsort(sums.stacks, sums.stack_count, sizeof(sums.stacks[0]), compare_sizes);
    }
    *ret_sums = sums;
    return 0;
}

void hs_mapped_sums_deinit(struct hs_mapped_sums *sums)
{
    free(sums->stacks);
    *sums = (struct hs_mapped_sums){ 0 };
}
