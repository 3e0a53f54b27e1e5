/*
 * The table that a scan adds parts up in: sums by stack, thread, type and age.
 *
 *     struct hs_part_table *table = hs_part_table_new();
 *     hs_part_table_add(table, &key, &estimate);             for each block
 *     struct hs_snap_part *parts = hs_part_table_take(table, parts_max, &count);
 *
 * The number of sums is limited. What finds no room is added to a sum of its stack, whose thread,
 * type and age are HS_PART_OTHERS.
 *
 * Ensures   the parts of a stack add up to all that was added for it.
 * Threads   one.
 * Fails     after a lack of memory, hs_part_table_list() and hs_part_table_take() return NULL.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "trace/heap_parts.h"
#include "trace/snapshot.h"

struct hs_part_table;

/* NULL: no memory. */
struct hs_part_table *hs_part_table_new(void);
/* NULL is allowed. */
void hs_part_table_free(struct hs_part_table *table);

/* Adds what a block stands for to the sum of its key. */
void hs_part_table_add(struct hs_part_table *table, const struct hs_part_key *key,
                       const struct hs_estimate *more);

/* All sums, in no order. The caller frees the array. NULL: no memory. */
struct hs_snap_part *hs_part_table_list(const struct hs_part_table *table, size_t *ret_count);
/* The largest `parts_max` sums, and one of the others of each stack, in the order of their stacks;
 * of one stack, the largest is the last. The caller frees the array. NULL: no memory. */
struct hs_snap_part *hs_part_table_take(struct hs_part_table *table, size_t parts_max,
                                        size_t *ret_count);
