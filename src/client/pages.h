/*
 * Memory for our own tables: mapped, never from an allocator, and not in core dumps.
 *
 * Threads   any; async-signal-safe.
 * Fails     map returns NULL; populate never does, the pages then come one by one.
 */
#pragma once

#include <stddef.h>
#include <sys/mman.h>

#include "client/sandbox.h"
#include "rt/sys.h"

/* Linux 5.14, and not in older headers: all pages of a range at once. */
#define HS_MADV_POPULATE_WRITE 23

/* Zeroed; only touched pages count, as nothing is reserved. */
static inline void *hs_pages_map(size_t bytes)
{
    long va = hs_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (va < 0 && va > -4096) {
        return NULL;
    }
    hs_sandbox_advise((void *)va, bytes, MADV_DONTDUMP);
    return (void *)va;
}

/* For tables of which a little is touched here and there: a huge page would be 2 MiB for that. */
static inline void *hs_pages_map_sparse(size_t bytes)
{
    void *pages = hs_pages_map(bytes);
    if (pages) {
        hs_sandbox_advise(pages, bytes, MADV_NOHUGEPAGE);
    }
    return pages;
}

/* Has pages made ready that will be written to soon. Touched one by one, each costs several microseconds; the
 * kernel makes many at once in a fraction of that. */
static inline void hs_pages_populate(void *from, size_t bytes)
{
    hs_sandbox_advise(from, bytes, HS_MADV_POPULATE_WRITE);
}
