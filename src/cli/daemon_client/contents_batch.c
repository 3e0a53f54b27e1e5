/*
 * Reads blocks without their pages that were never written: see contents_batch.h.
 */
#include "cli/daemon_client/contents_batch.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define PAGE_BYTES UINT64_C(4096)
#define WORD_PAGES 64U
/* So much is asked of the kernel at once. */
#define WINDOW_BYTES (UINT64_C(1) << 30)

/* --- which pages ------------------------------------------------------------------------------ */

/* A page of this memory that is neither in RAM nor in swap contains zeros. */
static bool is_zero_at_first(const struct hs_address_space *space, const struct hs_mapping *mapping)
{
    return mapping->inode == 0 && !mapping->is_shared && mapping->is_readable &&
           hs_mapping_is_anonymous(space, mapping);
}

/* The end of the pages from `page` on that are in memory or swap, or are not, as the first one. */
static uint64_t run_end(const struct hs_residency *residency, uint64_t page, bool *ret_is_absent)
{
    const uint64_t *present = residency->present, *swapped = residency->swapped;
    uint64_t first = (present[page / WORD_PAGES] | swapped[page / WORD_PAGES]) >> page % WORD_PAGES;
    bool is_absent = (first & 1) == 0;
    while (page < residency->page_count) {
        uint64_t word = present[page / WORD_PAGES] | swapped[page / WORD_PAGES];
        uint64_t other = (is_absent ? word : ~word) >> page % WORD_PAGES;
        if (other != 0) {
            page += (uint64_t)__builtin_ctzll(other);
            break;
        }
        page = (page / WORD_PAGES + 1) * WORD_PAGES;
    }
    *ret_is_absent = is_absent;
    return page < residency->page_count ? page : residency->page_count;
}

/* Makes the window contain `va`, which is in the mapping. 0 or -errno. */
static int move_window(struct hs_contents_batch *batch, const struct hs_mapping *mapping,
                       uint64_t va)
{
    const struct hs_residency *residency = &batch->residency;
    if (va >= residency->start_va &&
        va - residency->start_va < residency->page_count * PAGE_BYTES) {
        return 0;
    }
    hs_residency_deinit(&batch->residency);
    uint64_t end_va = mapping->end_va - va > WINDOW_BYTES ? va + WINDOW_BYTES : mapping->end_va;
    return hs_residency_read(batch->pagemap_fd, va, end_va, &batch->residency);
}

/* 0 or -ENOMEM. */
static int add_range(struct hs_contents_batch *batch, struct hs_contents_block *block,
                     uint64_t start_va, uint64_t end_va)
{
    struct hs_contents_range *last = batch->ranges + batch->range_count;
    if (block->range_count > 0 && block->va + last[-1].off_bytes + last[-1].bytes == start_va) {
        last[-1].bytes += end_va - start_va;
        return 0;
    }
    if (batch->range_count == batch->capacity) {
        size_t capacity = batch->capacity * 2 + 64;
        struct hs_contents_range *ranges = realloc(batch->ranges, capacity * sizeof(ranges[0]));
        if (!ranges) {
            return -ENOMEM;
        }
        batch->ranges = ranges;
        batch->capacity = capacity;
    }
    batch->ranges[batch->range_count++] =
        (struct hs_contents_range){ start_va - block->va, end_va - start_va };
    block->range_count++;
    return 0;
}

static int find_ranges(struct hs_contents_batch *batch, struct hs_contents_block *block)
{
    uint64_t va = block->va, end_va = block->va + block->size_bytes;
    int r = 0;
    while (r == 0 && va < end_va) {
        const struct hs_mapping *mapping = hs_address_space_find(&batch->space, va);
        if (!mapping) {
            break;
        }
        uint64_t part_end_va = mapping->end_va < end_va ? mapping->end_va : end_va;
        if (!is_zero_at_first(&batch->space, mapping)) {
            va = part_end_va;
            continue;
        }
        r = move_window(batch, mapping, va);
        if (r == 0) {
            bool is_absent;
            uint64_t start_va = batch->residency.start_va;
            uint64_t page = run_end(&batch->residency, (va - start_va) / PAGE_BYTES, &is_absent);
            uint64_t run_end_va = start_va + page * PAGE_BYTES;
            run_end_va = run_end_va < part_end_va ? run_end_va : part_end_va;
            r = is_absent ? add_range(batch, block, va, run_end_va) : 0;
            va = run_end_va;
        }
    }
    return r;
}

static void forget_ranges(struct hs_contents_batch *batch, struct hs_contents_block *blocks,
                          size_t count)
{
    batch->range_count = 0;
    for (size_t i = 0; i < count; i++) {
        blocks[i].range_first = blocks[i].range_count = 0;
    }
}

static int find_all(struct hs_contents_batch *batch, struct hs_contents_block *blocks, size_t count)
{
    forget_ranges(batch, blocks, count);
    if (batch->pagemap_fd < 0) {
        return 0;
    }
    int r = hs_address_space_read_places(batch->pid, &batch->space);
    if (r < 0) {
        batch->space = (struct hs_address_space){ 0 };
    }
    for (size_t i = 0; i < count && r == 0; i++) {
        blocks[i].range_first = batch->range_count;
        r = find_ranges(batch, &blocks[i]);
    }
    hs_address_space_deinit(&batch->space);
    hs_residency_deinit(&batch->residency);
    if (r < 0 && r != -ENOMEM) {
        forget_ranges(batch, blocks, count);
        close(batch->pagemap_fd);
        batch->pagemap_fd = -1;
        r = 0;
    }
    return r;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads what is between the ranges of a block. 0 or -errno. */
static int read_between(struct hs_contents_batch *batch, struct hs_contents_block *block,
                        uint8_t *buffer)
{
    uint64_t at = 0;
    block->is_read = true;
    for (size_t i = 0; i <= block->range_count && block->is_read; i++) {
        bool is_last = i == block->range_count;
        const struct hs_contents_range *range =
            is_last ? NULL : &batch->ranges[block->range_first + i];
        uint64_t end = is_last ? block->size_bytes : range->off_bytes;
        struct hs_contents_block part = { .va = block->va + at, .size_bytes = end - at };
        int r = end > at ? hs_contents_read(batch->pid, &part, 1, buffer + at) : 0;
        if (r < 0) {
            return r;
        }
        block->is_read = end == at || part.is_read;
        at = is_last ? end : range->off_bytes + range->bytes;
    }
    return 0;
}

int hs_contents_batch_read(struct hs_contents_batch *batch, struct hs_contents_block *blocks,
                           size_t count, uint8_t *buffer)
{
    int r = find_all(batch, blocks, count);
    for (size_t i = 0; i < count && r == 0;) {
        size_t end = i;
        uint64_t bytes = 0;
        while (end < count && blocks[end].range_count == 0) {
            bytes += blocks[end++].size_bytes;
        }
        if (end > i) {
            r = hs_contents_read(batch->pid, &blocks[i], end - i, buffer);
        } else {
            r = read_between(batch, &blocks[i], buffer);
            bytes = blocks[end++].size_bytes;
        }
        buffer += bytes;
        i = end;
    }
    return r;
}

void hs_contents_batch_init(struct hs_contents_batch *batch, pid_t pid)
{
    *batch = (struct hs_contents_batch){ .pid = pid, .pagemap_fd = hs_residency_open(pid) };
}

void hs_contents_batch_deinit(struct hs_contents_batch *batch)
{
    if (batch->pagemap_fd >= 0) {
        close(batch->pagemap_fd);
    }
    free(batch->ranges);
    *batch = (struct hs_contents_batch){ .pagemap_fd = -1 };
}
