/*
 * Stacks with functions of Python in them: a native stack, in which the native frames of an
 * interpreter's evaluation function are replaced by the functions that they run.
 *
 * Each sample walks the frames of its thread (client/python). Places and stacks that were met
 * before are found again (combined_stack.h), and so are the frames that have not changed since the
 * last sample of the thread.
 *
 * Where the frames belong. One native frame of eval has one group of functions. The frames of eval
 * are told by their addresses. If some are missing (the walk was cut, or the compiler has put a
 * part of eval elsewhere), groups and native frames are matched from that end of the stack which is
 * whole.
 *
 * Threads   any, inside the guard.
 * Fails     the native stack's id: there are no functions of Python, they cannot be read, or they
 *           are not asked for. HS_ID_NONE: a table has no room.
 */
#pragma once

#include <stdint.h>

#include "client/thread/combined_stack.h"
#include "client/thread/thread.h"

/* The id of the stack `native_id` with the functions of Python that the thread runs. */
uint32_t hs_python_stack_add(struct hs_thread *thread, struct hs_combined_cache *combined,
                             uint32_t native_id);
