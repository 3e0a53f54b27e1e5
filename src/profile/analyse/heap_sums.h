/*
 * The sums of a selection, for each heap. Views add up the heaps of a process. With these sums they
 * tell the user so, and keep the stacks of each heap apart.
 *
 * Threads   pure functions.
 * Fails     -ENOMEM
 * See       aggregate.h, docs/FORMAT.md "Several heaps", docs/adr/0026-heaps-stand-apart.md
 */
#pragma once

#include <stdint.h>

#include "profile/analyse/select.h"

struct hs_buf;

/*
 * The most heaps that get a root of their own. In a forged file with more, the rest share one root.
 */
#define HS_HEAPS_APART_MAX 64u
/* Stands in place of a heap's name: all heaps beyond this number. */
#define HS_HEAP_NAME_OTHERS UINT32_MAX

struct hs_heap_sum {
    uint32_t name; /* string id */
    struct hs_amount live, alloc, peak;
};

/*
 * The sums of all heaps with a figure above 0, in the profile's order. The caller frees them. Each
 * margin holds for its heap alone. 0 or -ENOMEM.
 */
int hs_heap_sums_of(const struct hs_selection *selection, struct hs_heap_sum **ret_sums,
                    uint32_t *ret_count);

/*
 * Writes "2 heaps are added up: libc.malloc (10.0 MiB allocated), pool (2.00 MiB)", or nothing when
 * there are fewer than two. Returns the number of heaps. An error is kept in `buf`. Names are
 * sanitized, so that they cannot control a terminal.
 */
uint32_t hs_heap_sums_describe(const struct hs_selection *selection, struct hs_buf *buf);

/*
 * Puts heaps into groups whose stacks stand together. group_of has an element for each heap.
 * names[group] is the string id of the name below which the group's stacks hang; it is 0 for
 * libc.malloc, whose stacks have no such frame. Heaps without samples are in group 0.
 */
void hs_heap_sums_group(const struct hs_selection *selection, uint32_t *group_of,
                        uint32_t names[HS_HEAPS_APART_MAX + 1], uint32_t *ret_group_count);

/*
 * Writes the outermost frame of a heap's stacks, "[heap art]"; `name` is the string id of the
 * heap's name.
 */
void hs_heap_sums_write_frame(const struct hs_profile *profile, uint32_t name, struct hs_buf *buf);
