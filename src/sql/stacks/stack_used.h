/*
 * The frames below which each process allocated: the table __heapscope_used_frames(upid, frame_id).
 *
 * Threads   one user.
 */
#pragma once

#include "sql/stacks/stack_forest.h"

/* Registers the table for a session's forest. Returns 0 or an SQLite error code. */
int hs_stack_used_register(sqlite3 *db, struct hs_stack_forest *forest);
