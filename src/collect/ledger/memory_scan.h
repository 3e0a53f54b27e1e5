/*
 * Looks at each word of a range of another process's memory, as far as it is resident: reading must
 * not change what the process has in memory.
 *
 * Threads   one.
 * Trust     the words are hostile; the budget limits how many are read.
 * Fails     -errno of reading the pagemap; -ENOMEM. Memory that is gone meanwhile is left out.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "collect/ledger/remote_window.h"

/* Gets the words of one piece, which begins with a page. An error that it returns ends the scan. */
typedef int (*hs_memory_scan_fn)(void *ctx, const uint64_t *words, size_t word_count);

struct hs_memory_scan {
    const struct hs_remote_window *window;
    int pagemap_fd;
    uint64_t bytes_left; /* a scan ends when these are read */
    uint64_t piece_va;   /* while `take` runs: of its first word */
    hs_memory_scan_fn take;
    void *ctx;
};

int hs_memory_scan(struct hs_memory_scan *scan, uint64_t start_va, uint64_t end_va);
