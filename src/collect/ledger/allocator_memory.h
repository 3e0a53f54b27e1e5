/*
 * Memory of allocators that are not glibc's malloc: mimalloc, tcmalloc, allocators in the
 * executable, heaps of the program's own.
 *
 * Such memory is recognized by what points to it:
 * - a recorded block of a heap lies there;
 * - the data of the allocator's library points there (for its own tables, and where nothing is
 *   recorded, because heapscope attached later), or it is a segment of mimalloc.
 *
 * Threads   one.
 * Trust     the region and the memory are hostile; a process can only mislead its own user.
 * Fails     -ENOMEM, or as memory_scan.h and region_reader.h.
 */
#pragma once

#include <stdbool.h>

#include "collect/ledger/memory_scan.h"
#include "collect/ledger/owned_ranges.h"
#include "collect/region/region_reader.h"

struct hs_allocator_search {
    const struct hs_remote_window *window;
    int pagemap_fd;
    const struct hs_address_space *space;
    const struct hs_region *region; /* NULL: nothing is recorded */
    bool is_glibc_used;             /* the process has a heap of glibc's malloc */
    /* HS_REGION_HEAPS elements, filled here; ranges point to the names. */
    struct hs_heap_v2 *heaps;
};

/* Adds what is found to `owned`. */
int hs_allocator_memory_find(const struct hs_allocator_search *search,
                             struct hs_owned_ranges *owned);
