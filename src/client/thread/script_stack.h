/*
 * Stacks with the frames of a script in them: a native stack, in which each run loop of an
 * interpreter (of Perl, PHP or Ruby: patch/script_runtimes.h) is replaced by the frames that it
 * runs.
 *
 * Each sample of a thread with a run loop in its stack reads the frames that run
 * (combined_stack.h).
 *
 * Where the frames belong. Each call of the run loop runs one group of frames (script_frames.h),
 * counted from inside. The outermost loop gets the groups that are left: a script that is being
 * compiled has a frame and no loop. If there are more loops than groups, it is not known to which
 * of them a group belongs, and all frames stand at the innermost loop.
 *
 * Threads   any, inside the guard.
 * Fails     the native stack's id: there are no frames, or they are not what is known of this
 *           interpreter. HS_ID_NONE: a table has no room.
 */
#pragma once

#include <stdint.h>

#include "client/thread/thread.h"

/* The id of the stack `native_id` with the frames of the script that the thread runs, and with the
 * functions of Python (python_stack.h). */
uint32_t hs_script_stack_add(struct hs_thread *thread, uint32_t native_id);
