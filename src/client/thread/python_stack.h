/*
 * Stacks with functions of Python in them: a native stack, in which the native frames of an
 * interpreter's evaluation function are replaced by the functions that they run.
 *
 * Frames of Python are no part of the replay key, since the interpreter changes them while the
 * words of the native stack stay the same. So each sample walks the frames of its thread
 * (client/python). A table of the thread's finds the stack of this pair, native stack and frames;
 * only a new pair is put together, and only a new place in the code is described in words.
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

#include "client/thread/thread.h"

/* The id of the stack `native_id` with the functions of Python that the thread runs. */
uint32_t hs_python_stack_add(struct hs_thread *thread, uint32_t native_id);

/* Forgets all stacks: for a new region. No other thread may be recording meanwhile. */
void hs_python_stack_clear(void);
