/*
 * Reading memory of the process that may not be there: where data of the program leads to.
 *
 * The kernel is asked once for each page. Another thread may unmap a page right afterwards, so this
 * is for memory that the running thread's own work keeps alive, if it is what it seems to be.
 *
 * Threads   any; async-signal-safe. A set of pages is used by one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_OWN_PAGES 64U

/* Pages that can be read, as the kernel has said. To be emptied (all zero) when the program may
 * have run since. */
struct hs_own_pages {
    uint64_t page[HS_OWN_PAGES]; /* numbers of pages; 0: none */
};

/* Copies the bytes at `va`. `pages` is a struct hs_own_pages. False: not all can be read. */
bool hs_own_memory_read(void *pages, uint64_t va, void *ret_bytes, size_t byte_count);
