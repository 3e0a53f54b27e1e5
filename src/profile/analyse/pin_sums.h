/*
 * The pinned pages of the selected dumps, added up: which stacks' live blocks kept resident pages
 * of malloc's memory in one or several processes.
 *
 * What several stacks keep together is known within one process only: with several, sets are left
 * out. Ends of intervals are added up as if the errors of all processes had one direction.
 *
 * Threads   none.
 * Fails     -ENOMEM
 * See       trace/pinned_pages.h
 */
#pragma once

#include "profile/analyse/select.h"

struct hs_pin_sums {
    uint32_t process_count; /* with pinned pages */
    bool is_exact;          /* in all of them */
    bool is_sampled;        /* of a process, not all pages were looked at */
    bool is_huge_estimated;
    bool has_sets;
    uint64_t page_count[HS_PIN_LEVELS], huge_count[HS_PIN_LEVELS];
    uint64_t rounding_bytes, head_bytes;
    uint64_t unknown_page_bytes, cached_page_bytes;
    struct hs_profile_pin *stacks; /* those that keep most of nearly empty pages first */
    uint32_t stack_count;
};

/* Adds up the pinned pages at the selected dumps. */
int hs_pin_sums_of(const struct hs_selection *selection, struct hs_pin_sums *ret_sums);
/* Frees the stacks. */
void hs_pin_sums_deinit(struct hs_pin_sums *sums);

/*
 * Is an estimate narrow enough to be told? Otherwise the samples do not say which stack's blocks
 * lie beside which.
 */
static inline bool hs_pin_is_told(const struct hs_pin_estimate *estimate)
{
    return estimate->high_bytes - estimate->low_bytes <= estimate->high_bytes / 2;
}
