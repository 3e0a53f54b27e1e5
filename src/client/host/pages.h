/*
 * Memory for the client's own tables: it comes from mmap, never from an allocator, and is not in
 * core dumps. It is in the list of own_ranges.h.
 *
 * Threads   any; async-signal-safe.
 * Fails     map returns NULL. populate never fails: pages that the kernel does not populate are
 *           faulted in one by one.
 */
#pragma once

#include <stddef.h>
#include <sys/mman.h>

#include "client/host/own_ranges.h"
#include "client/host/sandbox.h"
#include "rt/sys.h"

/* Populates all pages of a range at once. Linux 5.14; older headers do not define it. */
#define HS_MADV_POPULATE_WRITE 23

/* Maps zeroed memory. Nothing is reserved, so only touched pages count. NULL: no memory. */
static inline void *hs_pages_map(size_t bytes)
{
    long va = hs_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (va < 0 && va > -4096) {
        return NULL;
    }
    hs_own_ranges_add((void *)va, bytes);
    hs_sandbox_advise((void *)va, bytes, MADV_DONTDUMP);
    return (void *)va;
}

/* Unmaps such memory, or the end of it. */
static inline void hs_pages_unmap(void *pages, size_t bytes)
{
    hs_own_ranges_remove(pages, bytes);
    hs_sys_munmap(pages, bytes);
}

/* The same for tables that are touched only here and there: a huge page would take 2 MiB for each
 * place. */
static inline void *hs_pages_map_sparse(size_t bytes)
{
    void *pages = hs_pages_map(bytes);
    if (pages) {
        hs_sandbox_advise(pages, bytes, MADV_NOHUGEPAGE);
    }
    return pages;
}

/* Populates pages that will be written to soon. Touched one by one, each costs several
 * microseconds; the kernel makes many at once in a fraction of that time. */
static inline void hs_pages_populate(void *from, size_t bytes)
{
    hs_sandbox_advise(from, bytes, HS_MADV_POPULATE_WRITE);
}
