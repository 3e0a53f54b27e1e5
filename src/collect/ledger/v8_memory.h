/*
 * The heap of V8 (node, Electron): memory that V8 divides into pages of 256 KiB, and larger ones
 * for large objects.
 *
 * V8 gives its mappings no name on most kernels. Each of its pages begins with a header that has
 * the page's size, and the first and last address of its objects, or that points to memory which
 * has them; memory with such a header, at a multiple of 256 KiB and of exactly that size, is V8's.
 * Known from V8 8 to 13.6 (node 14 to 24), without V8's sandbox, as node is built.
 *
 * Threads   one.
 * Trust     the memory is hostile; a process can only mislead its own user.
 * Fails     -ENOMEM.
 */
#pragma once

#include "collect/ledger/owned_ranges.h"
#include "collect/ledger/remote_window.h"

/* Adds what is found to `owned`. */
int hs_v8_memory_find(const struct hs_remote_window *window, int pagemap_fd,
                      const struct hs_address_space *space, struct hs_owned_ranges *owned);
