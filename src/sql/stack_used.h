/*
 * Which frames each process allocated below: the table __heapscope_used_frames(upid, frame_id).
 *
 * Threads   one user.
 */
#pragma once

#include "sql/stack_forest.h"

/* For a session's forest; 0 or an SQLite error code. */
int hs_stack_used_register(sqlite3 *db, struct hs_stack_forest *forest);
