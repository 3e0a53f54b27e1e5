/*
 * The anonymous memory that heapscope's client has mapped for itself in a process.
 *
 * The client keeps a list of it in its own data, whose address the region's header has. The kernel
 * joins neighbouring mappings, so the mappings do not tell.
 *
 * Trust     the list is in the process's memory, and hostile: it is followed for a limited number
 *           of steps, and what makes no sense is left out. A process can only mislead its own user.
 * Threads   one.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stdint.h>

#include "collect/ledger/owned_ranges.h"
#include "collect/ledger/remote_window.h"

/* Adds the ranges in the list that begins at `first_va`; 0: there is none. */
int hs_client_ranges_read(const struct hs_remote_window *window, uint64_t first_va,
                          struct hs_owned_ranges *owned);
