/*
 * Finds chunks with mappings of their own: see glibc_mmapped.h.
 */
#include "collect/ledger/glibc_mmapped.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "collect/ledger/glibc_arena.h"
#include "collect/ledger/residency.h"
#include "util/array.h"

#define PAGE_BYTES UINT64_C(4096)
/* M_MMAP_THRESHOLD can be made as small as one page. */
#define CHUNK_BYTES_MIN PAGE_BYTES
/* Which pages are resident is asked for all mappings within this distance at once. */
#define BATCH_BYTES_MAX (UINT64_C(256) << 20)

int hs_va_ranges_add(struct hs_va_ranges *ranges, uint64_t start_va, uint64_t end_va)
{
    int r = hs_array_reserve(&ranges->items, &ranges->capacity, ranges->count + 1,
                             sizeof(ranges->items[0]));
    if (r == 0) {
        ranges->items[ranges->count++] = (struct hs_va_range){ start_va, end_va, 0, 0 };
    }
    return r;
}

size_t hs_va_ranges_find(const struct hs_va_ranges *ranges, uint64_t va)
{
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges->items[middle].end_va <= va) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < ranges->count && ranges->items[low].start_va <= va ? low : ranges->count;
}

void hs_va_ranges_deinit(struct hs_va_ranges *ranges)
{
    free(ranges->items);
    *ranges = (struct hs_va_ranges){ 0 };
}

/* struct malloc_par ends: mmapped_mem, max_mmapped_mem, sbrk_base. */
uint64_t hs_glibc_mmapped_bytes(struct hs_remote_window *window, uint64_t start_va, uint64_t end_va,
                                uint64_t first_chunk_va)
{
    uint64_t words[3];
    for (uint64_t va = (start_va + 7) & ~UINT64_C(7); va + sizeof(words) <= end_va; va += 8) {
        if (!hs_remote_window_read(window, va, words, sizeof(words))) {
            va = (va | (PAGE_BYTES - 1)) + 1 - 8;
        } else if (words[2] == first_chunk_va && words[0] <= words[1] &&
                   words[0] % PAGE_BYTES == 0) {
            return words[0];
        }
    }
    return 0;
}

/* The size of the chunk that begins with `head` at `va`; 0: none does. The first word is what
 * alignment has cut off before it. */
static uint64_t chunk_bytes(const uint64_t head[2], uint64_t va, uint64_t end_va)
{
    uint64_t size_bytes = head[1] & ~(uint64_t)HS_GLIBC_FLAGS;
    bool is_mmapped = (head[1] & HS_GLIBC_FLAGS) == HS_GLIBC_IS_MMAPPED && head[0] == 0;
    return is_mmapped && size_bytes % PAGE_BYTES == 0 && size_bytes >= CHUNK_BYTES_MIN &&
                   size_bytes <= end_va - va
               ? size_bytes
               : 0;
}

static bool may_contain(const struct hs_mapping *mapping, const struct hs_va_ranges *arenas)
{
    for (size_t i = 0; i < arenas->count; i++) {
        if (mapping->start_va < arenas->items[i].end_va &&
            mapping->end_va > arenas->items[i].start_va) {
            return false;
        }
    }
    return mapping->inode == 0 && !mapping->is_shared && mapping->is_readable &&
           mapping->is_writable && !mapping->is_executable;
}

struct finding {
    const struct hs_remote_window *window;
    int pagemap_fd;
    struct hs_va_ranges *ranges;
    uint64_t found_bytes;
    uint64_t enough_bytes; /* there are no more chunks than these, at pages */
};

/* Adds the chunk that begins with `head`, and those that follow on each other behind it. */
static int add_row(struct finding *finding, uint64_t va, uint64_t end_va, uint64_t head[2])
{
    int r = 0;
    for (uint64_t size_bytes; va < end_va && r == 0; va += size_bytes) {
        size_bytes = chunk_bytes(head, va, end_va);
        if (size_bytes == 0) {
            break;
        }
        finding->found_bytes += size_bytes;
        r = hs_va_ranges_add(finding->ranges, va, va + size_bytes);
        if (va + size_bytes >= end_va ||
            !hs_remote_window_peek(finding->window, va + size_bytes, head, sizeof(head[0]) * 2)) {
            break;
        }
    }
    return r;
}

/* Mappings whose first pages are looked at together: a system call takes longer than a look. */
struct batch {
    const struct hs_mapping *mappings[HS_REMOTE_PAGES_MAX];
    size_t count;
};

/* Leaves out mappings whose first page is not resident: no chunk was written there, or it is in
 * swap. */
static int keep_resident(const struct finding *finding, struct batch *batch)
{
    struct hs_residency residency;
    size_t count = 0;
    int r = hs_residency_read(finding->pagemap_fd, batch->mappings[0]->start_va,
                              batch->mappings[batch->count - 1]->start_va + PAGE_BYTES, &residency);
    if (r < 0) {
        batch->count = 0;
        return r == -ENOMEM ? r : 0;
    }
    for (size_t i = 0; i < batch->count; i++) {
        uint64_t va = batch->mappings[i]->start_va;
        if (hs_residency_bytes(&residency, va, va + PAGE_BYTES) != 0) {
            batch->mappings[count++] = batch->mappings[i];
        }
    }
    batch->count = count;
    hs_residency_deinit(&residency);
    return 0;
}

static int add_batch(struct finding *finding, struct batch *batch)
{
    uint64_t page_va[HS_REMOTE_PAGES_MAX] = { 0 }, end_va[HS_REMOTE_PAGES_MAX] = { 0 };
    uint64_t heads[HS_REMOTE_PAGES_MAX][2];
    int r = batch->count > 0 ? keep_resident(finding, batch) : 0;
    for (size_t i = 0; i < batch->count; i++) {
        page_va[i] = batch->mappings[i]->start_va;
        end_va[i] = batch->mappings[i]->end_va;
    }
    for (size_t first = 0; first < batch->count && r == 0;) {
        size_t got = hs_remote_window_peek_pages(finding->window, page_va + first,
                                                 batch->count - first, heads);
        for (size_t i = 0; i < got && r == 0; i++) {
            r = add_row(finding, page_va[first + i], end_va[first + i], heads[i]);
        }
        first += got + 1; /* the page behind those that could be read is gone */
    }
    batch->count = 0;
    return r;
}

/* Adds the chunks that begin at the starts of mappings, and those that follow on them. */
static int find_at_starts(struct finding *finding, const struct hs_address_space *space,
                          const struct hs_va_ranges *arenas)
{
    struct batch batch = { .count = 0 };
    int r = 0;
    for (size_t i = 0; i < space->count && r == 0; i++) {
        const struct hs_mapping *mapping = &space->items[i];
        if (mapping->rss_bytes == 0 || !may_contain(mapping, arenas)) {
            continue;
        }
        if (batch.count == HS_REMOTE_PAGES_MAX ||
            (batch.count > 0 &&
             mapping->start_va - batch.mappings[0]->start_va > BATCH_BYTES_MAX)) {
            r = add_batch(finding, &batch);
        }
        batch.mappings[batch.count++] = mapping;
    }
    return r == 0 ? add_batch(finding, &batch) : r;
}

/* Adds the first chunk that begins at one of the pages. *ret_next_va: behind it, or behind the
 * last page. */
static int add_first(struct finding *finding, const uint64_t *page_va, size_t page_count,
                     uint64_t end_va, uint64_t *ret_next_va)
{
    uint64_t heads[HS_REMOTE_PAGES_MAX][2];
    size_t got = hs_remote_window_peek_pages(finding->window, page_va, page_count, heads);
    *ret_next_va = page_va[got > 0 ? got - 1 : 0] + PAGE_BYTES;
    for (size_t i = 0; i < got; i++) {
        uint64_t size_bytes = chunk_bytes(heads[i], page_va[i], end_va);
        if (size_bytes != 0) {
            finding->found_bytes += size_bytes;
            *ret_next_va = page_va[i] + size_bytes;
            return hs_va_ranges_add(finding->ranges, page_va[i], *ret_next_va);
        }
    }
    return 0;
}

/* Adds the chunks that begin at any resident page of a mapping. */
static int add_at_pages(struct finding *finding, const struct hs_mapping *mapping)
{
    struct hs_residency residency;
    uint64_t page_va[HS_REMOTE_PAGES_MAX] = { 0 }, va = mapping->start_va;
    int r = hs_residency_read(finding->pagemap_fd, mapping->start_va, mapping->end_va, &residency);
    if (r < 0) {
        return r == -ENOMEM ? r : 0;
    }
    while (r == 0) {
        size_t count = 0;
        for (uint64_t at_va = va; count < HS_REMOTE_PAGES_MAX; at_va += PAGE_BYTES) {
            at_va = hs_residency_next(&residency, at_va);
            if (at_va == UINT64_MAX) {
                break;
            }
            page_va[count++] = at_va;
        }
        if (count == 0) {
            break;
        }
        r = add_first(finding, page_va, count, mapping->end_va, &va);
    }
    hs_residency_deinit(&residency);
    return r;
}

static int find_at_pages(struct finding *finding, const struct hs_address_space *space,
                         const struct hs_va_ranges *arenas)
{
    int r = 0;
    for (size_t i = 0; i < space->count && r == 0 && finding->found_bytes < finding->enough_bytes;
         i++) {
        const struct hs_mapping *mapping = &space->items[i];
        r = mapping->rss_bytes > 0 && may_contain(mapping, arenas) ? add_at_pages(finding, mapping)
                                                                   : 0;
    }
    return r;
}

int hs_glibc_mmapped_find(const struct hs_remote_window *window, int pagemap_fd,
                          const struct hs_address_space *space, const struct hs_va_ranges *arenas,
                          uint64_t sum_bytes, struct hs_va_ranges *ranges)
{
    struct finding finding = {
        .window = window, .pagemap_fd = pagemap_fd, .ranges = ranges, .enough_bytes = sum_bytes
    };
    size_t count_before = ranges->count;
    int r = find_at_starts(&finding, space, arenas);
    if (r == 0 && finding.found_bytes < sum_bytes) {
        ranges->count = count_before;
        finding.found_bytes = 0;
        r = find_at_pages(&finding, space, arenas);
    }
    return r;
}
