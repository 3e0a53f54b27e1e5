/*
 * Large blocks of glibc's malloc in another process: those that have a mapping of their own.
 *
 * Such a chunk begins at the start of a page with its size and a flag. The kernel joins
 * neighbouring mappings, so a chunk can also begin in the middle of one. glibc keeps the sum of
 * their sizes: when the chunks that begin where a mapping or another chunk ends do not add up to
 * it, all other pages are looked at.
 *
 * Trust     all of it is hostile: a chunk is accepted only inside a private anonymous mapping.
 * Threads   one.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "collect/ledger/address_space.h"
#include "collect/ledger/remote_window.h"

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

/* The sum that glibc keeps, in its writable data [start_va, end_va). It stands before the address
 * of the main arena's first chunk. 0: it was not found. */
uint64_t hs_glibc_mmapped_bytes(struct hs_remote_window *window, uint64_t start_va, uint64_t end_va,
                                uint64_t first_chunk_va);

/* Adds the chunks to `ranges`. `arenas` are ranges that contain none; `sum_bytes` is what
 * hs_glibc_mmapped_bytes() returned. */
int hs_glibc_mmapped_find(const struct hs_remote_window *window, int pagemap_fd,
                          const struct hs_address_space *space, const struct hs_va_ranges *arenas,
                          uint64_t sum_bytes, struct hs_va_ranges *ranges);
