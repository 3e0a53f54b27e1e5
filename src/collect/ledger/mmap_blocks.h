/*
 * What of the ranges that the program maps itself is memory, by the kernel's mappings.
 *
 * The client records these ranges (the heap `mmap`). It does not see system calls that the program
 * makes without the C library, so what it has recorded is compared with the mappings: a range
 * counts only where there is anonymous or shared anonymous memory now.
 *
 * Threads   one.
 * Trust     the ranges are from the region: any numbers, in any order.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "collect/ledger/address_space.h"
#include "trace/ledger.h"

struct hs_region;

struct hs_mmap_block {
    uint64_t start_va, end_va;
    uint64_t rss_bytes, swap_bytes; /* if they were looked up */
    uint32_t stack_id;
};

struct hs_mmap_blocks {
    struct hs_mmap_block *items;
    size_t count;
    size_t capacity;
};

/* Reads the live blocks of the heap `mmap` from a region. Without such a heap there are none. The
 * caller frees them with hs_mmap_blocks_deinit, also when this fails: -ENOMEM, or as
 * region_reader.h. */
int hs_mmap_blocks_read(const struct hs_region *region, struct hs_mmap_blocks *ret_blocks);

/* The parts of `recorded` that are such memory: in the order of their addresses, each once, and
 * each within one mapping. Sorts `recorded`. The caller frees them with hs_mmap_blocks_deinit, also
 * when this fails. */
int hs_mmap_blocks_clip(const struct hs_address_space *space, struct hs_mmap_blocks *recorded,
                        struct hs_mmap_blocks *ret_blocks);

/* Adds up the blocks of each stack. The caller frees `ret_stacks`. */
int hs_mmap_blocks_by_stack(const struct hs_mmap_blocks *blocks,
                            struct hs_ledger_stack **ret_stacks, uint32_t *ret_count);

/* Frees the array. */
void hs_mmap_blocks_deinit(struct hs_mmap_blocks *blocks);
