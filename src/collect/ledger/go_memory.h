/*
 * The heap of a Go program.
 *
 * On 64-bit Linux, Go's runtime reserves its heap from the address 0xc000000000 upwards, in pieces
 * of 64 MiB. Memory there is Go's heap if the executable has Go's build information.
 * Where the runtime did not get these addresses, and in other programs that have loaded a library
 * written in Go, it is not recognized.
 *
 * Threads   one.
 * Trust     the executable is hostile: what is read of it is compared only.
 * Fails     -ENOMEM. A file that cannot be read is not one of Go's.
 */
#pragma once

#include <sys/types.h>

#include "collect/ledger/owned_ranges.h"

/* Adds what is found to `owned`. */
int hs_go_memory_find(pid_t pid, const struct hs_address_space *space,
                      struct hs_owned_ranges *owned);
