/*
 * The zeroed data of modules (.bss): anonymous memory that follows a module's last mapping.
 *
 * The kernel may join it with the mapping behind it, so how far it reaches is read from the
 * module's program headers: in the memory of the process, or, where reading would bring them into
 * memory, in the file. A forked process has few pages of its modules resident.
 *
 * Trust     headers are hostile: their number is capped, and a range lies inside one mapping. A
 *           file must be a regular one with the number that the kernel tells.
 * Threads   one.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "collect/ledger/address_space.h"
#include "collect/ledger/remote_window.h"

/* The address at which the module that `first` maps ends in memory. `first` is the mapping of the
 * start of its file. 0: it is no module. */
uint64_t hs_zeroed_data_end(const struct hs_remote_window *window, const struct hs_mapping *first);
/* The same by the file that `pid` sees at `path`. 0 also if that is another file now. */
uint64_t hs_zeroed_data_end_in_file(pid_t pid, const char *path, const struct hs_mapping *first);
