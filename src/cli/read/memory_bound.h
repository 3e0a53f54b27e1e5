/*
 * Limits the memory that reading a file may take.
 *
 * A compressed file of a megabyte can expand to a gigabyte, and each byte of that can become a row
 * of fifty. Reading such a file must not exhaust the machine: while a file is read, the process may
 * grow by 2 GiB, or by 256 times the file's size where that is more, which is far more than the
 * files of a recorder need. Beyond that, allocations fail, and each of them is checked. The size of
 * a pipe is not known; its bound is half of the machine's memory.
 *
 *     struct hs_memory_bound bound;
 *     hs_memory_bound_begin(&bound, path);
 *     r = hs_profile_load(path, &profile, &report);
 *     hs_memory_bound_end(&bound);
 *
 * Ensures   a lower bound that the user has set (ulimit -d) stays. Children that are started
 *           meanwhile inherit the bound.
 * Threads   main thread only: the bound is the process's.
 */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>

#define HS_MEMORY_BOUND_WORDS "2 GiB, or 256 times its size"

struct hs_memory_bound {
    struct rlimit before;
    bool is_set;
};

/* Sets the bound for the file `path`. */
void hs_memory_bound_begin(struct hs_memory_bound *ret_bound, const char *path);
/* Restores the bound that was there before. */
void hs_memory_bound_end(const struct hs_memory_bound *bound);
