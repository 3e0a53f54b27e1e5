/*
 * Adds up pinned pages: see pin_sums.h.
 */
#include "profile/analyse/pin_sums.h"

#include <errno.h>
#include <stdlib.h>

static const struct hs_profile_pins *pins_of(const struct hs_selection *selection, uint32_t i)
{
    const struct hs_profile *p = selection->profile;
    uint32_t idx = p->dumps[selection->dumps[i]].pins;
    return idx > 0 && idx <= p->pins_count ? &p->pins[idx - 1] : NULL;
}

static void add_estimate(struct hs_pin_estimate *sum, const struct hs_pin_estimate *more)
{
    sum->bytes += more->bytes;
    sum->low_bytes += more->low_bytes;
    sum->high_bytes += more->high_bytes;
}

static void add_head(struct hs_pin_sums *sums, const struct hs_profile_pins *pins)
{
    sums->process_count++;
    sums->is_exact &= pins->is_exact;
    sums->is_sampled |= pins->page_share > 1;
    sums->is_huge_estimated |= pins->is_huge_estimated;
    sums->rounding_bytes += pins->rounding_bytes;
    sums->head_bytes += pins->head_bytes;
    sums->unknown_page_bytes += pins->unknown_page_bytes;
    sums->cached_page_bytes += pins->cached_page_bytes;
    for (size_t i = 0; i < HS_PIN_LEVELS; i++) {
        sums->page_count[i] += pins->page_count[i];
        sums->huge_count[i] += pins->huge_count[i];
    }
}

static void add_stack(struct hs_pin_sums *sums, const struct hs_profile_pin *stack)
{
    for (uint32_t i = 0; i < sums->stack_count; i++) {
        struct hs_profile_pin *sum = &sums->stacks[i];
        if (sum->node == stack->node) {
            sum->block_count += stack->block_count;
            sum->block_bytes += stack->block_bytes;
            sum->rounding_bytes += stack->rounding_bytes;
            sum->sparse_page_bytes += stack->sparse_page_bytes;
            sum->sparse_block_bytes += stack->sparse_block_bytes;
            add_estimate(&sum->gain, &stack->gain);
            return;
        }
    }
    sums->stacks[sums->stack_count++] = *stack;
}

static int compare_stacks(const void *a, const void *b)
{
    const struct hs_profile_pin *x = a, *y = b;
    if (x->sparse_page_bytes != y->sparse_page_bytes) {
        return x->sparse_page_bytes > y->sparse_page_bytes ? -1 : 1;
    }
    return x->node < y->node ? -1 : x->node > y->node;
}

int hs_pin_sums_of(const struct hs_selection *selection, struct hs_pin_sums *ret_sums)
{
    struct hs_pin_sums sums = { .is_exact = true };
    size_t count = 0;
    for (uint32_t i = 0; i < selection->dump_count; i++) {
        const struct hs_profile_pins *pins = pins_of(selection, i);
        count += pins ? pins->stack_count : 0;
    }
    sums.stacks = calloc(count + 1, sizeof(sums.stacks[0]));
    if (!sums.stacks) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < selection->dump_count; i++) {
        const struct hs_profile_pins *pins = pins_of(selection, i);
        if (pins) {
            add_head(&sums, pins);
            for (uint32_t k = 0; k < pins->stack_count; k++) {
                add_stack(&sums, &pins->stacks[k]);
            }
        }
    }
    sums.has_sets = sums.process_count == 1;
    if (!sums.has_sets && sums.stack_count > 1) {
        qsort(sums.stacks, sums.stack_count, sizeof(sums.stacks[0]), compare_stacks);
    }
    *ret_sums = sums;
    return 0;
}

void hs_pin_sums_deinit(struct hs_pin_sums *sums)
{
    free(sums->stacks);
    *sums = (struct hs_pin_sums){ 0 };
}
