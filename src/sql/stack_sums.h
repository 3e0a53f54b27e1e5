/*
 * Values added up by call site, and the nodes of the forest that lead to them.
 *
 *     SELECT ... FROM __heapscope_stacks((SELECT __heapscope_stack_sums(callsite_id, size, count) FROM samples))
 *
 * is the part of the forest (stack_forest.h) that leads to samples, with the sums at the leaves: self_0, self_1 ...
 * The aggregate gives a pointer that only the table understands. Values add up as SUM() would: NULLs are passed over,
 * integers stay integers until one is none, and too large a sum is an error. A call site that is
 * NULL, or not in the database, counts nowhere.
 *
 * __heapscope_summary_tree is a table of the same for all allocations, with the sums of everything below too.
 *
 * Threads   one user.
 */
#pragma once

#include "sql/stack_forest.h"

/* The aggregate and both tables, for a session's forest; 0 or an SQLite error code. */
int hs_stack_sums_register(sqlite3 *db, struct hs_stack_forest *forest);
