/*
 * Finds to whom anonymous memory belongs that is neither glibc's malloc's nor a stack.
 *
 * Several searches follow each other. What one has found is left out by those that come later, so
 * the most certain ones come first: the client's own list, what the program has mapped itself.
 *
 * Threads   one.
 * Trust     the memory of the process and its region are hostile; each search checks what it reads.
 * Fails     -ENOMEM, or -errno of reading the region.
 */
#pragma once

#include <sys/types.h>

#include "collect/ledger/mmap_blocks.h"
#include "collect/ledger/owned_ranges.h"
#include "collect/ledger/remote_window.h"
#include "collect/region/region_reader.h"

struct hs_range_search {
    pid_t pid;
    int pagemap_fd;
    struct hs_remote_window *window;
    const struct hs_address_space *space;
    const struct hs_region *region;      /* NULL: the process has none */
    const struct hs_mmap_blocks *mapped; /* what is memory of the heap `mmap` */
};

/* Adds what the searches find to `owned`, and settles it. */
int hs_range_owners_find(const struct hs_range_search *search, struct hs_owned_ranges *owned);
