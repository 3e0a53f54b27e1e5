/*
 * What each dump of each heap changed: the table __heapscope_dump_sums(upid, heap_name, ts, allocated, delta,
 * held_change), one row for each instant at which a heap has allocations.
 *
 * Held is the size of call sites with a positive count, summed up over the heap: what a dump changes of that is
 * followed call site by call site, each in the order of time.
 *
 * Threads   one user.
 */
#pragma once

#include <sqlite3.h>

/* 0 or an SQLite error code. */
int hs_dump_sums_register(sqlite3 *db);
