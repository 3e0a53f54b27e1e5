/*
 * How much memory the reading of a file may take.
 *
 * A megabyte can say, compressed, that it is a gigabyte, and each byte of that can become a row of fifty. Whoever looks
 * at such a file must not lose the machine to it: while it is read the process may grow by 2 GiB, or by 256 times the
 * file where that is more, which is far more than a recorder's files take. Beyond that allocations fail, and each of
 * them is checked. A pipe's size is not known; for it the bound is half of the machine's memory.
 *
 *     struct hs_memory_bound bound;
 *     hs_memory_bound_begin(&bound, path);
 *     r = hs_profile_load(path, &profile, &report);
 *     hs_memory_bound_end(&bound);
 *
 * Holds     a bound of the user's (ulimit -d) that is lower stays. Children that are started meanwhile inherit it.
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

void hs_memory_bound_begin(struct hs_memory_bound *ret_bound, const char *path);
void hs_memory_bound_end(const struct hs_memory_bound *bound);
