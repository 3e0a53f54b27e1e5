/*
 * Memory of jemalloc 5, wherever it is linked, by its own tables.
 *
 * jemalloc keeps its tables in blocks of multiples of 2 MiB, each with a head that has the block's
 * size and how much of it is left. The tables describe each extent: memory that jemalloc has from
 * the kernel. Nothing is called in the process, and no symbol is needed.
 *
 * Threads   one.
 * Trust     the memory is hostile; a process can only mislead its own user.
 * Fails     -ENOMEM, or as memory_scan.h.
 */
#pragma once

#include "collect/ledger/owned_ranges.h"
#include "collect/ledger/remote_window.h"

/* Adds what is found in `gaps`, which are in the order of their addresses, to `owned`. */
int hs_jemalloc_memory_find(const struct hs_remote_window *window, int pagemap_fd,
                            const struct hs_va_ranges *gaps, struct hs_owned_ranges *owned);
