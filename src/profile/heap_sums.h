/*
 * What each heap has of a selection. Views add the heaps of a process up; with these they say so.
 *
 * Threads   pure functions.
 * Fails     -ENOMEM
 */
#pragma once

#include <stdint.h>

#include "profile/select.h"

struct hs_buf;

struct hs_heap_sum {
    uint32_t name; /* string id */
    struct hs_amount live, alloc, peak;
};

/* Of the heaps that have anything, in the profile's order; to be freed. Margins hold for each heap by itself. */
int hs_heap_sums_of(const struct hs_selection *selection, struct hs_heap_sum **ret_sums,
                    uint32_t *ret_count);

/* "2 heaps are added up: libc.malloc (10.0 MiB allocated), pool (2.00 MiB)"; nothing when there are fewer. An error is
 * kept in `buf`. How many heaps there are. */
uint32_t hs_heap_sums_describe(const struct hs_selection *selection, struct hs_buf *buf);
