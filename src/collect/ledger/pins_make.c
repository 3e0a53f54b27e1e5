/*
 * Makes pinned pages: see pins_make.h.
 */
#include "collect/ledger/pins_make.h"

#include <errno.h>
#include <stdlib.h>

#include "collect/ledger/pin_gain.h"
#include "collect/ledger/pin_table.h"
#include "rt/base.h"

#define HUGE_BYTES (UINT64_C(2) << 20)
#define HUGE_PAGES (HUGE_BYTES / HS_PIN_PAGE_BYTES)

static unsigned level_of(uint64_t used_bytes, uint64_t page_bytes)
{
    uint64_t level = (used_bytes * 8 + page_bytes - 1) / page_bytes;
    return level < HS_PIN_LEVELS ? (unsigned)level : HS_PIN_LEVELS - 1;
}

static bool has_own(const struct hs_pin_table *table, const struct hs_pin_page *page)
{
    for (size_t i = 0; i < page->item_count; i++) {
        if (table->items[page->item_first + i].owner == HS_PIN_OWN) {
            return true;
        }
    }
    return false;
}

static void count_pages(const struct hs_pin_table *table, struct hs_pinned_pages *pins)
{
    uint64_t weight = pins->page_share, page_bytes = weight * HS_PIN_PAGE_BYTES;
    for (size_t i = 0; i < table->page_count; i++) {
        const struct hs_pin_page *page = &table->pages[i];
        unsigned level = level_of(page->used_bytes, HS_PIN_PAGE_BYTES);
        pins->page_count[level] += weight;
        if (level > HS_PIN_SPARSE_LEVEL || !has_own(table, page)) {
            continue;
        }
        if (page->used_bytes > 0) {
            pins->unknown_page_bytes += page_bytes;
        } else if (page->is_cached) {
            pins->cached_page_bytes += page_bytes;
        }
    }
}

/* --- huge pages ------------------------------------------------------------------------------- */

static size_t find_page(const struct hs_pin_table *table, uint64_t va)
{
    size_t low = 0, high = table->page_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->pages[middle].va < va) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Counts the ranges of a mapping that can be huge pages, by level. Returns how many there are. */
static uint64_t count_ranges(const struct hs_pin_table *table, const struct hs_used_huge *huge,
                             uint64_t ret_counts[HS_PIN_LEVELS])
{
    uint64_t count = 0;
    size_t i = find_page(table, hs_align_up(huge->start_va, HUGE_BYTES));
    while (i < table->page_count && table->pages[i].va + HUGE_BYTES <= huge->end_va) {
        uint64_t va = table->pages[i].va, used_bytes = 0;
        size_t end = i;
        if (va % HUGE_BYTES != 0) {
            i++;
            continue;
        }
        while (end < table->page_count && table->pages[end].va < va + HUGE_BYTES) {
            used_bytes += table->pages[end++].used_bytes;
        }
        if (end - i == HUGE_PAGES) {
            ret_counts[level_of(used_bytes, HUGE_BYTES)]++;
            count++;
        }
        i = end;
    }
    return count;
}

static void count_huge(const struct hs_pin_table *table, const struct hs_used_chunks *chunks,
                       struct hs_pinned_pages *pins)
{
    for (size_t i = 0; i < chunks->huge_count && table->page_shift == 0; i++) {
        uint64_t counts[HS_PIN_LEVELS] = { 0 };
        uint64_t found = count_ranges(table, &chunks->huge[i], counts);
        uint64_t huge = chunks->huge[i].huge_bytes / HUGE_BYTES;
        double share = found > huge ? (double)huge / (double)found : 1;
        pins->is_huge_estimated |= found > huge;
        for (unsigned k = 0; k < HS_PIN_LEVELS; k++) {
            pins->huge_count[k] += (uint64_t)((double)counts[k] * share + 0.5);
        }
    }
}

/* --- stacks ----------------------------------------------------------------------------------- */

static uint64_t scaled(const struct hs_pinned_pages *pins, double value)
{
    return (uint64_t)(value * pins->page_share + 0.5);
}

static int add_stacks(const struct hs_pin_table *table, const struct hs_used_chunks *chunks,
                      struct hs_pinned_pages *pins)
{
    struct hs_pin_gain gain;
    int r = hs_pin_gain_find(table, chunks, &gain);
    if (r < 0) {
        return r;
    }
    pins->stacks = calloc((size_t)gain.owner_count + 1, sizeof(pins->stacks[0]));
    if (!pins->stacks) {
        return -ENOMEM;
    }
    pins->stack_count = gain.owner_count;
    for (uint32_t i = 0; i < gain.owner_count; i++) {
        const struct hs_pin_owner *owner = &table->owners[gain.owners[i]];
        pins->stacks[i] = (struct hs_pinning_stack){
            .stack_id = owner->stack_id,
            .block_count = scaled(pins, owner->block_count),
            .block_bytes = scaled(pins, owner->block_bytes),
            .rounding_bytes = scaled(pins, owner->rounding_bytes),
            .sparse_page_bytes = scaled(pins, owner->sparse_page_bytes),
            .sparse_block_bytes = scaled(pins, owner->sparse_block_bytes),
            .gain = gain.alone[i],
            .set_gain = gain.sets[i],
        };
    }
    return 0;
}

int hs_pins_make(struct hs_used_chunks *chunks, struct hs_live_blocks *blocks,
                 struct hs_pinned_pages **ret_pins)
{
    struct hs_pin_table table;
    struct hs_pinned_pages *pins = calloc(1, sizeof(*pins));
    if (!pins) {
        return -ENOMEM;
    }
    int r = hs_pin_table_make(chunks, blocks, &table);
    if (r < 0) {
        hs_pinned_pages_free(pins);
        return r;
    }
    pins->page_share = 1U << table.page_shift;
    pins->is_exact = table.is_exact && table.page_shift == 0;
    pins->rounding_bytes = scaled(pins, table.rounding_bytes);
    pins->head_bytes = scaled(pins, table.head_bytes);
    count_pages(&table, pins);
    count_huge(&table, chunks, pins);
    r = add_stacks(&table, chunks, pins);
    hs_pin_table_deinit(&table);
    if (r < 0) {
        hs_pinned_pages_free(pins);
        return r;
    }
    *ret_pins = pins;
    return 0;
}
