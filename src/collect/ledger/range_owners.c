/*
 * The searches, in their order: see range_owners.h.
 */
#include "collect/ledger/range_owners.h"

#include "collect/ledger/client_ranges.h"
#include "rt/base.h"
#include "trace/ledger.h"

static int find_client(const struct hs_range_search *search, struct hs_owned_ranges *owned)
{
    return search->region
               ? hs_client_ranges_read(search->window, search->region->header.own_ranges_va, owned)
               : 0;
}

static int find_mapped(const struct hs_range_search *search, struct hs_owned_ranges *owned)
{
    int r = 0;
    for (size_t i = 0; i < search->mapped->count && r == 0; i++) {
        const struct hs_mmap_block *block = &search->mapped->items[i];
        const struct hs_owned_range range = { block->start_va, block->end_va, HS_LEDGER_MMAP, "" };
        r = hs_owned_ranges_add(owned, &range);
    }
    return r;
}

int hs_range_owners_find(const struct hs_range_search *search, struct hs_owned_ranges *owned)
{
    static int (*const searches[])(const struct hs_range_search *, struct hs_owned_ranges *) = {
        find_client,
        find_mapped,
    };
    int r = 0;
    for (size_t i = 0; i < HS_COUNT_OF(searches) && r == 0; i++) {
        r = searches[i](search, owned);
        r = r == 0 ? hs_owned_ranges_settle(owned) : r;
    }
    return r;
}
