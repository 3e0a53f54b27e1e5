/*
 * Joins chunks, blocks and pages: see pin_table.h.
 */
#include "collect/ledger/pin_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/ledger/pin_owners.h"
#include "util/array.h"
#include "util/page_sample.h"

#define PAGE_SHIFT 12U
#define SPARSE_BYTES                                                                               \
    (HS_PIN_SPARSE_LEVEL * HS_PIN_PAGE_BYTES / 8) /* at most so much of a nearly empty page */
/* On a page with more owners, the others count as one that cannot be freed. */
#define OWNERS_MAX 32U

/* --- pages ------------------------------------------------------------------------------------ */

static int compare_pieces(const void *a, const void *b)
{
    const struct hs_used_piece *left = a, *right = b;
    return left->start_va < right->start_va ? -1 : left->start_va > right->start_va;
}

/* A sample of few enough pages. */
static unsigned shift_for(const struct hs_used_chunks *chunks, unsigned shift)
{
    uint64_t resident_bytes = 0;
    for (size_t i = 0; i < chunks->piece_count; i++) {
        const struct hs_used_piece *piece = &chunks->pieces[i];
        resident_bytes += hs_residency_bytes(&piece->residency, piece->start_va, piece->end_va);
    }
    while (resident_bytes >> PAGE_SHIFT >> shift > HS_PIN_PAGES_MAX &&
           shift < HS_PAGE_SAMPLE_SHIFT_MAX) {
        shift++;
    }
    return shift;
}

static int add_pages(struct hs_pin_table *table, const struct hs_used_piece *piece)
{
    uint64_t va = hs_residency_next(&piece->residency, piece->start_va);
    while (va < piece->end_va) {
        if (hs_page_is_sampled(va >> PAGE_SHIFT, table->page_shift)) {
            int r = table->page_count < 2 * (size_t)HS_PIN_PAGES_MAX
                        ? hs_array_reserve(&table->pages, &table->page_capacity,
                                           table->page_count + 1, sizeof(table->pages[0]))
                        : -EFBIG;
            if (r < 0) {
                return r;
            }
            table->pages[table->page_count++] = (struct hs_pin_page){ .va = va };
        }
        va = hs_residency_next(&piece->residency, va + HS_PIN_PAGE_BYTES);
    }
    return 0;
}

static int list_pages(struct hs_used_chunks *chunks, struct hs_pin_table *table)
{
    int r = 0;
    if (chunks->piece_count > 1) {
        qsort(chunks->pieces, chunks->piece_count, sizeof(chunks->pieces[0]), compare_pieces);
    }
    table->piece_first = calloc(chunks->piece_count + 1, sizeof(table->piece_first[0]));
    if (!table->piece_first) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < chunks->piece_count && r == 0; i++) {
        const struct hs_used_piece *piece = &chunks->pieces[i];
        table->piece_first[i] = table->page_count;
        if (i == 0 || piece[-1].end_va <= piece->start_va) {
            r = add_pages(table, piece);
        }
    }
    table->piece_first[chunks->piece_count] = table->page_count;
    return r;
}

static uint64_t part_on(const struct hs_pin_page *page, const struct hs_pin_chunk *chunk)
{
    uint64_t page_end_va = page->va + HS_PIN_PAGE_BYTES;
    uint64_t start_va = chunk->va > page->va ? chunk->va : page->va;
    uint64_t end_va = chunk->end_va < page_end_va ? chunk->end_va : page_end_va;
    return start_va < end_va ? end_va - start_va : 0;
}

/* Adds up what is in use of each page. */
static void fill_pages(struct hs_pin_table *table, struct hs_pin_chunk *chunks, size_t count)
{
    size_t page = 0;
    for (size_t i = 0; i < count; i++) {
        struct hs_pin_chunk *chunk = &chunks[i];
        while (page < table->page_count && table->pages[page].va + HS_PIN_PAGE_BYTES <= chunk->va) {
            page++;
        }
        for (size_t k = page; k < table->page_count && table->pages[k].va < chunk->end_va; k++) {
            struct hs_pin_page *to = &table->pages[k];
            chunk->page = chunk->page == UINT32_MAX ? (uint32_t)k : chunk->page;
            uint64_t part_bytes = chunk->is_held ? part_on(to, chunk) : 0;
            to->used_bytes = (uint16_t)(to->used_bytes + part_bytes);
            to->is_cached |= chunk->is_cached;
        }
    }
}

/* --- items ------------------------------------------------------------------------------------ */

/* The items of a page are added one after the other. */
static int add_item(struct hs_pin_table *table, struct hs_pin_page *page, uint32_t owner,
                    uint64_t bytes)
{
    page->item_first = page->item_count == 0 ? (uint32_t)table->item_count : page->item_first;
    owner = page->item_count < OWNERS_MAX ? owner : HS_PIN_OWN;
    for (size_t i = page->item_count; i-- > 0;) {
        struct hs_pin_item *item = &table->items[page->item_first + i];
        if (item->owner == owner) {
            item->chunk_count++;
            item->bytes = (uint16_t)(item->bytes + bytes);
            return 0;
        }
    }
    int r = table->item_count < UINT32_MAX
                ? hs_array_reserve(&table->items, &table->item_capacity, table->item_count + 1,
                                   sizeof(table->items[0]))
                : -EFBIG;
    if (r == 0) {
        table->items[table->item_count++] = (struct hs_pin_item){ owner, 1, (uint16_t)bytes };
        page->item_count++;
    }
    return r;
}

static int add_items(struct hs_pin_table *table, const struct hs_pin_chunk *chunks, size_t count)
{
    size_t page = 0;
    int r = 0;
    for (size_t i = 0; i < count && r == 0; i++) {
        const struct hs_pin_chunk *chunk = &chunks[i];
        uint64_t next_va = i + 1 < count ? chunk[1].va : UINT64_MAX;
        uint64_t kept_end_va = chunk->end_va + HS_USED_LINKS_BYTES;
        kept_end_va = kept_end_va < next_va ? kept_end_va : next_va;
        while (page < table->page_count && table->pages[page].va + HS_PIN_PAGE_BYTES <= chunk->va) {
            page++;
        }
        for (size_t k = page; k < table->page_count && table->pages[k].va < kept_end_va && r == 0;
             k++) {
            struct hs_pin_page *to = &table->pages[k];
            r = add_item(table, to, chunk->owner, part_on(to, chunk));
        }
    }
    return r;
}

/* --- nearly empty pages ----------------------------------------------------------------------- */

static bool can_be_freed(const struct hs_pin_table *table, const struct hs_pin_page *page)
{
    for (size_t i = 0; i < page->item_count; i++) {
        if (table->items[page->item_first + i].owner == HS_PIN_OWN) {
            return false;
        }
    }
    return page->item_count > 0;
}

static void add_sparse(struct hs_pin_table *table)
{
    for (size_t p = 0; p < table->page_count; p++) {
        const struct hs_pin_page *page = &table->pages[p];
        if (page->used_bytes > SPARSE_BYTES || !can_be_freed(table, page)) {
            continue;
        }
        for (size_t i = 0; i < page->item_count; i++) {
            const struct hs_pin_item *item = &table->items[page->item_first + i];
            struct hs_pin_owner *owner = &table->owners[item->owner];
            /* Several strata of a page may be of one stack. */
            owner->sparse_page_bytes +=
                (double)HS_PIN_PAGE_BYTES / (table->is_exact ? 1 : page->item_count);
            owner->sparse_block_bytes += item->bytes;
            owner->kept_bytes +=
                (double)(HS_PIN_PAGE_BYTES - page->used_bytes) / (double)page->item_count;
        }
    }
}

/* Divides what the strata have among the stacks. */
static void divide_strata(struct hs_pin_table *table)
{
    for (size_t i = 0; i < table->stratum_count; i++) {
        const struct hs_pin_stratum *stratum = &table->strata[i];
        const struct hs_pin_owner *from = &table->owners[table->stratum_first + i];
        for (size_t k = 0; k < stratum->share_count && stratum->weight > 0; k++) {
            const struct hs_pin_share *share = &table->shares[stratum->share_first + k];
            double part = share->weight / stratum->weight;
            struct hs_pin_owner *to = &table->owners[share->owner];
            to->sparse_page_bytes += part * from->sparse_page_bytes;
            to->sparse_block_bytes += part * from->sparse_block_bytes;
            to->kept_bytes += part * from->kept_bytes;
        }
    }
}

/* --- the whole -------------------------------------------------------------------------------- */

static int join(struct hs_used_chunks *chunks, const struct hs_live_blocks *blocks,
                struct hs_pin_table *table)
{
    struct hs_pin_chunk *joined = NULL;
    size_t count = 0;
    int r = list_pages(chunks, table);
    r = r < 0 ? r : hs_pin_owners_find(chunks, blocks, table, &joined, &count);
    if (r == 0) {
        fill_pages(table, joined, count);
        r = table->is_exact ? 0 : hs_pin_owners_stratify(blocks, table, joined, count);
    }
    r = r < 0 ? r : add_items(table, joined, count);
    free(joined);
    if (r == 0) {
        add_sparse(table);
        divide_strata(table);
    }
    return r;
}

int hs_pin_table_make(struct hs_used_chunks *chunks, struct hs_live_blocks *blocks,
                      struct hs_pin_table *ret_table)
{
    struct hs_pin_table table = { .is_exact = blocks->widest_bytes <= 1,
                                  .is_from_startup = blocks->is_from_startup };
    unsigned shift =
        chunks->page_shift > blocks->page_shift ? chunks->page_shift : blocks->page_shift;
    table.page_shift = shift_for(chunks, shift);
    if (table.page_shift > chunks->page_shift) {
        hs_used_chunks_thin(chunks, table.page_shift);
    }
    int r = chunks->err;
    r = r < 0 ? r : hs_sort_pairs(chunks->items, chunks->count);
    r = r < 0 ? r : hs_sort_pairs(chunks->cached, chunks->cached_count);
    r = r < 0 ? r : hs_sort_pairs(blocks->items, blocks->count);
    r = r < 0 ? r : join(chunks, blocks, &table);
    if (r < 0) {
        hs_pin_table_deinit(&table);
        return r;
    }
    *ret_table = table;
    return 0;
}

void hs_pin_table_deinit(struct hs_pin_table *table)
{
    free(table->pages);
    free(table->piece_first);
    free(table->items);
    free(table->owners);
    free(table->strata);
    free(table->shares);
    *table = (struct hs_pin_table){ 0 };
}
