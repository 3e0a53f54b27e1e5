/*
 * Large blocks of glibc's malloc in another process: those that have a mapping of their own.
 *
 * Such a chunk begins at the start of a page with its size and a flag. The kernel joins
 * neighbouring mappings, so a chunk can also begin in the middle of one. glibc keeps the sum of
 * their sizes, so the search ends as soon as its chunks add up to it: those that contain recorded
 * blocks; those that begin where a mapping or another chunk ends; those at any resident page.
 *
 * Trust     all of it is hostile: a chunk is accepted only inside a private anonymous mapping.
 * Threads   one.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/ledger/address_space.h"
#include "collect/ledger/remote_window.h"
#include "collect/region/live_blocks.h"

struct hs_va_range {
    uint64_t start_va, end_va;
    uint64_t rss_bytes, swap_bytes; /* if they were looked up */
};

struct hs_va_ranges {
    struct hs_va_range *items;
    size_t count;
    size_t capacity;
};

int hs_va_ranges_add(struct hs_va_ranges *ranges, uint64_t start_va, uint64_t end_va);
/* The range that contains `va`, of ranges in the order of their addresses, which do not overlap;
 * ranges->count: none does. */
size_t hs_va_ranges_find(const struct hs_va_ranges *ranges, uint64_t va);
/* Frees the array. */
void hs_va_ranges_deinit(struct hs_va_ranges *ranges);

/* What glibc's counters say of these chunks. */
struct hs_glibc_mmapped_sum {
    bool is_known;
    uint64_t bytes;
};

/* Reads the counters in glibc's writable data [start_va, end_va). They stand before the address of
 * the main arena's first chunk. */
struct hs_glibc_mmapped_sum hs_glibc_mmapped_sum_read(struct hs_remote_window *window,
                                                      uint64_t start_va, uint64_t end_va,
                                                      uint64_t first_chunk_va);

struct hs_glibc_mmapped_search {
    const struct hs_remote_window *window;
    int pagemap_fd;
    const struct hs_address_space *space;
    const struct hs_va_ranges *arenas; /* sorted; they contain none of these chunks */
    /* Recorded, sorted by address: where to look first. NULL: there are none. */
    const struct hs_live_blocks *blocks;
    struct hs_glibc_mmapped_sum sum;
};

/* Adds the chunks to `ranges`. */
int hs_glibc_mmapped_find(const struct hs_glibc_mmapped_search *search,
                          struct hs_va_ranges *ranges);
