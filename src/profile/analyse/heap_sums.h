/*
 * The sums of a selection, for each heap. Views add up the primary heaps of a process, or those
 * that the user chose. With these sums they tell the user which heaps a figure contains, show the
 * others beside it, and keep the stacks of each heap apart.
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
    uint32_t heap; /* index in the profile's heaps */
    /* As in struct hs_profile_dump_heap, of the processes that are added up here. */
    bool is_carved, is_counted, is_inside, has_own_samples;
    /* index in the profile's heaps; HS_PROFILE_NO_HEAP: unknown, or not the same everywhere */
    uint32_t parent;
    uint64_t interval_min_bytes, interval_max_bytes; /* 0: unknown */
    struct hs_amount live, alloc, peak;
};

/*
 * The sums of all heaps with a figure above 0, in the profile's order, those that the figures
 * contain first. A heap that only some processes count has two. The caller frees them. Each margin
 * holds for its heap alone. 0 or -ENOMEM.
 */
int hs_heap_sums_of(const struct hs_selection *selection, struct hs_heap_sum **ret_sums,
                    uint32_t *ret_count);

/*
 * Finds what a carved heap is a share of: its parent, whose string id is ret_whole->name; if the
 * parent is not known, all primary heaps together, with the name 0. False: the heap is not carved.
 */
bool hs_heap_sums_whole(const struct hs_heap_sum *sums, uint32_t count,
                        const struct hs_heap_sum *sum, struct hs_heap_sum *ret_whole);

/*
 * Finds the heaps that a process of the selection has and that were not recorded, because the
 * recording did not select them: indices in the profile's heaps, in its order. The caller frees
 * them. 0 or -ENOMEM.
 */
int hs_heap_sums_left_out(const struct hs_selection *selection, uint32_t **ret_heaps,
                          uint32_t *ret_count);

/*
 * Writes which heaps the figures contain, and which were not recorded: "2 heaps are added up:
 * libc.malloc (10.0 MiB allocated), gpu (2.00 MiB); pool (1.00 MiB) lies inside them; not recorded:
 * arena", or nothing when there is only one heap. Returns the number of heaps with figures and of
 * those that were not recorded. An error is kept in `buf`. Names are sanitized, so that they cannot
 * control a terminal.
 */
uint32_t hs_heap_sums_describe(const struct hs_selection *selection, struct hs_buf *buf);

/*
 * The same for the last dump of one process.
 */
void hs_heap_sums_describe_process(const struct hs_profile *profile, uint32_t process,
                                   struct hs_buf *buf);

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
