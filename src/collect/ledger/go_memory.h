/*
 * The heap of a Go program, and what its runtime keeps beside it (go_tables.h).
 *
 * On 64-bit Linux, Go's runtime reserves its heap from the address 0xc000000000 upwards, in pieces
 * of 64 MiB. Memory there is Go's heap if the executable has Go's build information.
 * Where the runtime did not get these addresses, and in other programs that have loaded a library
 * written in Go, it is not recognized.
 *
 * Threads   one.
 * Trust     the executable is hostile: what is read of it is compared only.
 * Fails     -ENOMEM, or -errno of reading the pagemap. A file that cannot be read is none of Go's.
 */
#pragma once

#include <sys/types.h>

#include "collect/ledger/owned_ranges.h"
#include "collect/ledger/remote_window.h"

struct hs_go_search {
    pid_t pid;
    const struct hs_remote_window *window;
    int pagemap_fd;
    const struct hs_address_space *space;
};

/* Adds what is found to `owned`. */
int hs_go_memory_find(const struct hs_go_search *search, struct hs_owned_ranges *owned);
