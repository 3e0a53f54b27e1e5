/*
 * Settles who owns which range: see owned_ranges.h.
 */
#include "collect/ledger/owned_ranges.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/ledger.h"
#include "util/array.h"

int hs_owned_ranges_add(struct hs_owned_ranges *owned, const struct hs_owned_range *range)
{
    if (range->start_va >= range->end_va) {
        return 0;
    }
    int r = hs_array_reserve(&owned->items, &owned->capacity, owned->added_count + 1,
                             sizeof(owned->items[0]));
    if (r == 0) {
        owned->items[owned->added_count++] = *range;
    }
    return r;
}

static int compare_starts(const void *a, const void *b)
{
    const struct hs_owned_range *x = a, *y = b;
    return x->start_va < y->start_va ? -1 : x->start_va > y->start_va;
}

/* Adds to `to` what `old` leaves of `range`; `*old_idx` moves on. */
static int add_rest(const struct hs_owned_ranges *old, size_t *old_idx, struct hs_owned_range range,
                    struct hs_owned_ranges *to)
{
    int r = 0;
    while (*old_idx < old->count && old->items[*old_idx].end_va <= range.start_va) {
        ++*old_idx;
    }
    for (size_t i = *old_idx; i < old->count && old->items[i].start_va < range.end_va && r == 0;
         i++) {
        struct hs_owned_range part = range;
        part.end_va = old->items[i].start_va;
        r = hs_owned_ranges_add(to, &part);
        range.start_va = old->items[i].end_va;
    }
    return r == 0 ? hs_owned_ranges_add(to, &range) : r;
}

/* Joins neighbours of one owner. Blocks of the heap `mmap` stay apart: they are counted. */
static void join(struct hs_owned_ranges *all)
{
    size_t kept = 0;
    for (size_t i = 1; i < all->added_count; i++) {
        struct hs_owned_range *last = &all->items[kept];
        const struct hs_owned_range *range = &all->items[i];
        if (range->start_va == last->end_va && range->kind == last->kind &&
            range->name == last->name && range->kind != HS_LEDGER_MMAP) {
            last->end_va = range->end_va;
        } else {
            all->items[++kept] = *range;
        }
    }
    all->added_count = all->added_count > 0 ? kept + 1 : 0;
}

int hs_owned_ranges_settle(struct hs_owned_ranges *owned)
{
    struct hs_owned_ranges all = { 0 };
    size_t added_count = owned->added_count - owned->count, old_idx = 0;
    uint64_t done_va = 0;
    int r = 0;
    if (added_count == 0) {
        return 0;
    }
    struct hs_owned_range *added = owned->items + owned->count;
    qsort(added, added_count, sizeof(added[0]), compare_starts);
    for (size_t i = 0; i < added_count && r == 0; i++) {
        struct hs_owned_range range = added[i];
        range.start_va = range.start_va > done_va ? range.start_va : done_va;
        if (range.start_va < range.end_va) {
            done_va = range.end_va;
            r = add_rest(owned, &old_idx, range, &all);
        }
    }
    for (size_t i = 0; i < owned->count && r == 0; i++) {
        r = hs_owned_ranges_add(&all, &owned->items[i]);
    }
    if (r < 0) {
        hs_owned_ranges_deinit(&all);
        return r;
    }
    if (all.added_count > 1) {
        qsort(all.items, all.added_count, sizeof(all.items[0]), compare_starts);
    }
    join(&all);
    all.count = all.added_count;
    hs_owned_ranges_deinit(owned);
    *owned = all;
    return 0;
}

/* The first settled range that ends behind `va`. */
static size_t first_behind(const struct hs_owned_ranges *owned, uint64_t va)
{
    size_t low = 0, high = owned->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (owned->items[middle].end_va <= va) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct hs_owned_range *hs_owned_ranges_find(const struct hs_owned_ranges *owned, uint64_t va)
{
    size_t i = first_behind(owned, va);
    return i < owned->count && owned->items[i].start_va <= va ? &owned->items[i] : NULL;
}

static int add_gaps(const struct hs_owned_ranges *owned, uint64_t start_va, uint64_t end_va,
                    struct hs_va_ranges *ret_gaps)
{
    int r = 0;
    for (size_t i = first_behind(owned, start_va);
         i < owned->count && owned->items[i].start_va < end_va && r == 0; i++) {
        if (start_va < owned->items[i].start_va) {
            r = hs_va_ranges_add(ret_gaps, start_va, owned->items[i].start_va);
        }
        start_va = owned->items[i].end_va;
    }
    return r == 0 && start_va < end_va ? hs_va_ranges_add(ret_gaps, start_va, end_va) : r;
}

int hs_owned_ranges_gaps(const struct hs_owned_ranges *owned, const struct hs_address_space *space,
                         struct hs_va_ranges *ret_gaps)
{
    int r = 0;
    for (size_t i = 0; i < space->count && r == 0; i++) {
        const struct hs_mapping *mapping = &space->items[i];
        if (hs_mapping_is_plain(space, mapping) && mapping->rss_bytes + mapping->swap_bytes > 0) {
            r = add_gaps(owned, mapping->start_va, mapping->end_va, ret_gaps);
        }
    }
    return r;
}

void hs_owned_ranges_deinit(struct hs_owned_ranges *owned)
{
    free(owned->items);
    *owned = (struct hs_owned_ranges){ 0 };
}
