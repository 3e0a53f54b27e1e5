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

/* A part of struct malloc_par. Since glibc 2.35 the counts begin 4 bytes earlier. */
struct counters {
    int32_t counts[6];
    uint64_t bytes, peak_bytes;
    uint64_t first_chunk_va;
};

/* Chunks now, their limit, and the most that there were. */
static bool are_counts(const int32_t counts[3], const struct counters *counters)
{
    return counts[0] <= counts[2] && counts[1] > 0 && (counts[0] == 0) == (counters->bytes == 0) &&
           (counts[2] == 0) == (counters->peak_bytes == 0);
}

static bool are_counters(const struct counters *counters, uint64_t first_chunk_va)
{
    return counters->first_chunk_va == first_chunk_va && counters->bytes <= counters->peak_bytes &&
           counters->bytes % PAGE_BYTES == 0 &&
           (are_counts(&counters->counts[2], counters) ||
            are_counts(&counters->counts[1], counters));
}

struct hs_glibc_mmapped_sum hs_glibc_mmapped_sum_read(struct hs_remote_window *window,
                                                      uint64_t start_va, uint64_t end_va,
                                                      uint64_t first_chunk_va)
{
    struct counters counters;
    for (uint64_t va = (start_va + 7) & ~UINT64_C(7); va + sizeof(counters) <= end_va; va += 8) {
        if (!hs_remote_window_read(window, va, &counters, sizeof(counters))) {
            va = (va | (PAGE_BYTES - 1)) + 1 - 8;
        } else if (are_counters(&counters, first_chunk_va)) {
            return (struct hs_glibc_mmapped_sum){ true, counters.bytes };
        }
    }
    return (struct hs_glibc_mmapped_sum){ false, 0 };
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
    const struct hs_glibc_mmapped_search *of;
    struct hs_va_ranges *ranges;
    uint64_t found_bytes;
    bool is_row; /* other chunks may follow on each */
};

/* Adds the chunk that begins with `head`; in a row, those that follow on each other behind it. */
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
        if (!finding->is_row || va + size_bytes >= end_va ||
            !hs_remote_window_peek(finding->of->window, va + size_bytes, head,
                                   sizeof(head[0]) * 2)) {
            break;
        }
    }
    return r;
}

/* Pages where chunks may begin, which are looked at together: a system call takes longer than a
 * look. */
struct batch {
    uint64_t page_va[HS_REMOTE_PAGES_MAX];
    uint64_t end_va[HS_REMOTE_PAGES_MAX]; /* of the page's mapping */
    size_t count;
};

/* Leaves out pages that are not resident: no chunk was written there, or it is in swap. */
static int keep_resident(const struct finding *finding, struct batch *batch)
{
    struct hs_residency residency;
    size_t count = 0;
    int r = hs_residency_read(finding->of->pagemap_fd, batch->page_va[0],
                              batch->page_va[batch->count - 1] + PAGE_BYTES, &residency);
    if (r < 0) {
        batch->count = 0;
        return r == -ENOMEM ? r : 0;
    }
    for (size_t i = 0; i < batch->count; i++) {
        uint64_t va = batch->page_va[i];
        if (hs_residency_bytes(&residency, va, va + PAGE_BYTES) != 0) {
            batch->end_va[count] = batch->end_va[i];
            batch->page_va[count++] = va;
        }
    }
    batch->count = count;
    hs_residency_deinit(&residency);
    return 0;
}

static int look(struct finding *finding, struct batch *batch)
{
    uint64_t heads[HS_REMOTE_PAGES_MAX][2];
    int r = batch->count > 0 ? keep_resident(finding, batch) : 0;
    for (size_t first = 0; first < batch->count && r == 0;) {
        size_t got = hs_remote_window_peek_pages(finding->of->window, batch->page_va + first,
                                                 batch->count - first, heads);
        for (size_t i = 0; i < got && r == 0; i++) {
            r = add_row(finding, batch->page_va[first + i], batch->end_va[first + i], heads[i]);
        }
        first += got + 1; /* the page behind those that could be read is gone */
    }
    batch->count = 0;
    return r;
}

/* Pages are added in the order of their addresses. */
static int add_page(struct finding *finding, struct batch *batch, uint64_t page_va, uint64_t end_va)
{
    int r = 0;
    if (batch->count == HS_REMOTE_PAGES_MAX ||
        (batch->count > 0 && page_va - batch->page_va[0] > BATCH_BYTES_MAX)) {
        r = look(finding, batch);
    }
    batch->page_va[batch->count] = page_va;
    batch->end_va[batch->count++] = end_va;
    return r;
}

/* Adds the chunks that contain recorded blocks. */
static int find_recorded(struct finding *finding)
{
    const struct hs_glibc_mmapped_search *of = finding->of;
    struct batch batch = { .count = 0 };
    int r = 0;
    for (size_t i = 0; of->blocks && i < of->blocks->count && r == 0; i++) {
        uint64_t va = of->blocks->items[i].key - HS_GLIBC_CHUNK_HEAD;
        if (va % PAGE_BYTES == 0 && hs_va_ranges_find(of->arenas, va) == of->arenas->count) {
            const struct hs_mapping *mapping = hs_address_space_find(of->space, va);
            r = mapping && may_contain(mapping, of->arenas)
                    ? add_page(finding, &batch, va, mapping->end_va)
                    : 0;
        }
    }
    return r == 0 ? look(finding, &batch) : r;
}

/* Adds the chunks that begin at the starts of mappings, and those that follow on them. */
static int find_at_starts(struct finding *finding)
{
    const struct hs_glibc_mmapped_search *of = finding->of;
    struct batch batch = { .count = 0 };
    int r = 0;
    for (size_t i = 0; i < of->space->count && r == 0; i++) {
        const struct hs_mapping *mapping = &of->space->items[i];
        r = mapping->rss_bytes > 0 && may_contain(mapping, of->arenas)
                ? add_page(finding, &batch, mapping->start_va, mapping->end_va)
                : 0;
    }
    return r == 0 ? look(finding, &batch) : r;
}

/* Adds the first chunk that begins at one of the pages. *ret_next_va: behind it, or behind the
 * last page. */
static int add_first(struct finding *finding, const uint64_t *page_va, size_t page_count,
                     uint64_t end_va, uint64_t *ret_next_va)
{
    uint64_t heads[HS_REMOTE_PAGES_MAX][2];
    size_t got = hs_remote_window_peek_pages(finding->of->window, page_va, page_count, heads);
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
    int r =
        hs_residency_read(finding->of->pagemap_fd, mapping->start_va, mapping->end_va, &residency);
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

static int find_at_pages(struct finding *finding)
{
    const struct hs_glibc_mmapped_search *of = finding->of;
    int r = 0;
    for (size_t i = 0; i < of->space->count && r == 0 && finding->found_bytes < of->sum.bytes;
         i++) {
        const struct hs_mapping *mapping = &of->space->items[i];
        r = mapping->rss_bytes > 0 && may_contain(mapping, of->arenas)
                ? add_at_pages(finding, mapping)
                : 0;
    }
    return r;
}

int hs_glibc_mmapped_find(const struct hs_glibc_mmapped_search *search, struct hs_va_ranges *ranges)
{
    struct finding finding = { .of = search, .ranges = ranges };
    size_t count_before = ranges->count;
    if (search->sum.is_known && search->sum.bytes == 0) {
        return 0;
    }
    int r = find_recorded(&finding);
    if (r < 0 || (search->sum.is_known && finding.found_bytes == search->sum.bytes)) {
        return r;
    }
    ranges->count = count_before;
    finding.found_bytes = 0;
    finding.is_row = true;
    r = find_at_starts(&finding);
    if (r == 0 && finding.found_bytes < search->sum.bytes) {
        ranges->count = count_before;
        finding.found_bytes = 0;
        r = find_at_pages(&finding);
    }
    return r;
}
