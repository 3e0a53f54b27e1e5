/*
 * Values that are added up by call site, and the nodes of the forest that lead to these sites.
 *
 *     SELECT ... FROM __heapscope_stacks((
 *         SELECT __heapscope_stack_sums(callsite_id, size, count) FROM samples))
 *
 * is the part of the forest (stack_forest.h) that leads to samples, with the sums at the leaves:
 * self_0, self_1 ... The aggregate returns a pointer that only the table understands. Values add up
 * as in SUM(): NULLs are skipped, a sum of integers stays an integer until the first value that is
 * not one, and an overflow is an error. Values whose call site is NULL, or not in the database, are
 * not counted.
 *
 * __heapscope_summary_tree is the same table for all allocations, and also has the sums of
 * everything below each node.
 *
 * Threads   one user.
 */
#pragma once

#include "sql/stacks/stack_forest.h"

/* Registers the aggregate and both tables for a session's forest. Returns 0 or an SQLite error
 * code. */
int hs_stack_sums_register(sqlite3 *db, struct hs_stack_forest *forest);
