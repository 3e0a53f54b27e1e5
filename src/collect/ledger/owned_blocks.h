/*
 * How much of the memory of allocators that are not glibc's malloc is in recorded live blocks.
 *
 * A block counts with those of its bytes that lie in resident pages; Python's objects, which were
 * written to, with all of them, in the line of its arenas. A sampled block stands for all
 * that its samples weigh, as in snapshots; the records are read without a cut.
 *
 * Threads   one.
 * Trust     the region is hostile: see live_records.h. Figures of a process that lies can be any
 *           numbers that are not negative.
 * Fails     -ENOMEM, or -errno of reading the region or the pagemap.
 */
#pragma once

#include "collect/ledger/owned_ranges.h"
#include "collect/region/region_reader.h"
#include "trace/ledger.h"

/* Adds to ret_blocks[i] the blocks in owned->items[i], if that is memory of an allocator; to
 * *python, unless it is NULL, all of Python's objects. `heaps` has HS_REGION_HEAPS elements: blocks
 * of carved heaps lie in blocks of others, and those of the heap `mmap` contain others, so they do
 * not count. */
int hs_owned_blocks_read(const struct hs_region *region, const struct hs_heap_v2 *heaps,
                         int pagemap_fd, const struct hs_owned_ranges *owned,
                         struct hs_ledger_blocks *python, struct hs_ledger_blocks *ret_blocks);
