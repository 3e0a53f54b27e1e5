/*
 * What each heap has of a selection. Views add the heaps of a process up; with these they say so, and keep the stacks of each
 * apart.
 *
 * Threads   pure functions.
 * Fails     -ENOMEM
 * See       aggregate.h, docs/FORMAT.md "Several heaps", docs/adr/0026-heaps-stand-apart.md
 */
#pragma once

#include <stdint.h>

#include "profile/select.h"

struct hs_buf;

/* More of them, in a file that somebody made up, have one root together. */
#define HS_HEAPS_APART_MAX 64u
/* Instead of a heap's name: all that are beyond this. */
#define HS_HEAP_NAME_OTHERS UINT32_MAX

struct hs_heap_sum {
    uint32_t name; /* string id */
    struct hs_amount live, alloc, peak;
};

/* Of the heaps that have anything, in the profile's order; to be freed. Margins hold for each heap by itself. */
int hs_heap_sums_of(const struct hs_selection *selection, struct hs_heap_sum **ret_sums,
                    uint32_t *ret_count);

/* "2 heaps are added up: libc.malloc (10.0 MiB allocated), pool (2.00 MiB)"; nothing when there are fewer. An error is
 * kept in `buf`. How many heaps there are. Names cannot steer a terminal. */
uint32_t hs_heap_sums_describe(const struct hs_selection *selection, struct hs_buf *buf);

/*
 * Groups of heaps whose stacks stand together: group_of by heap; names[group] is the string id of what the group's stacks
 * hang below, 0 for those of libc.malloc, which hang below nothing. Heaps without samples are in group 0.
 */
void hs_heap_sums_group(const struct hs_selection *selection, uint32_t *group_of,
                        uint32_t names[HS_HEAPS_APART_MAX + 1], uint32_t *ret_group_count);

/* "[heap art]": the outermost frame of the stacks of a heap, by the string id of its name. */
void hs_heap_sums_write_frame(const struct hs_profile *profile, uint32_t name, struct hs_buf *buf);
