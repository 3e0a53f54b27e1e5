/*
 * The zeroed data of modules (.bss): anonymous memory that follows a module's last mapping.
 *
 * The kernel may join it with the mapping behind it, so how far it reaches is read from the
 * module's program headers, in the memory of the process.
 *
 * Trust     headers are hostile: their number is capped, and a range lies inside one mapping.
 * Threads   one.
 */
#pragma once

#include <stdint.h>

#include "collect/ledger/address_space.h"
#include "collect/ledger/remote_window.h"

/* The address at which the module that `first` maps ends in memory. `first` is the mapping of the
 * start of its file. 0: it is no module. */
uint64_t hs_zeroed_data_end(const struct hs_remote_window *window, const struct hs_mapping *first);
