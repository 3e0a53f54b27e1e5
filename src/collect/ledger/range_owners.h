/*
 * Finds to whom anonymous memory belongs that is neither glibc's malloc's nor a stack.
 *
 * Several searches follow each other, and a later one gets what the earlier ones leave. Memory that
 * no search finds has no owner.
 *
 * Threads   one.
 * Trust     the memory of the process and its region are hostile; each search checks what it reads.
 * Fails     -ENOMEM, or -errno of reading the region or the pagemap.
 * See       docs/adr/0036-names-of-mappings.md
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "collect/ledger/mmap_blocks.h"
#include "collect/ledger/owned_ranges.h"
#include "collect/ledger/remote_window.h"
#include "collect/region/region_reader.h"
#include "trace/ledger.h"

struct hs_range_search {
    pid_t pid;
    int pagemap_fd;
    struct hs_remote_window *window;
    const struct hs_address_space *space;
    const struct hs_region *region;      /* NULL: the process has none */
    bool is_glibc_used;                  /* the process has a heap of glibc's malloc */
    const struct hs_mmap_blocks *mapped; /* what is memory of the heap `mmap` */
    struct hs_heap_v2 *heaps;            /* NULL at first; found ranges point to their names */
    struct hs_ledger_blocks *blocks;     /* NULL at first; then one for each settled range */
    uint64_t pymalloc_used_bytes;        /* 0 at first; what pools of pymalloc have in use */
};

/* Adds what the searches find to `owned`, settles it, and adds up the recorded blocks of allocators
 * in it. The caller frees `search` when it no
 * longer needs the names, also when this fails. */
int hs_range_owners_find(struct hs_range_search *search, struct hs_owned_ranges *owned);
/* Frees the heaps and the sums of blocks. */
void hs_range_search_deinit(struct hs_range_search *search);
