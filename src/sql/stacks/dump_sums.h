/*
 * The changes that each dump of each heap made: the table __heapscope_dump_sums(upid, heap_name,
 * ts, allocated, delta, held_change). It has one row for each instant at which a heap has
 * allocations.
 *
 * The held size of a heap is the sum of the sizes of its call sites with a positive count. To find
 * how a dump changed that sum, each call site is followed separately, in the order of time.
 *
 * Threads   one user.
 */
#pragma once

#include <sqlite3.h>

/* Registers the table. Returns 0 or an SQLite error code. */
int hs_dump_sums_register(sqlite3 *db);
