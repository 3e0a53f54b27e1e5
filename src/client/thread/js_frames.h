/*
 * JavaScript frames: which function of V8 (the engine of node) a frame of its code belongs to.
 *
 * V8's code has frame pointers and no unwind information, so the unwinder follows the frame pointer
 * and asks here for a name. The frame has the function's object; name, file and line are read from
 * V8's heap when a thread first meets the function, and copied to the region.
 *
 * Ensures   memory is read only where it can be: see client/host/readable_pages.h. A frame whose
 *           function does not check out keeps its address.
 * Threads   any, inside the guard. Each has a cache of its own: a thread runs one isolate (heap of
 *           V8) in node, and only in an isolate are the numbers of functions unambiguous.
 * See       v8/js_function.h; docs/adr/0049-javascript-functions.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/thread_state.h"
#include "unwind/walk.h"

/* Looks for V8 among the objects that the program was started with. Returns what names its frames;
 * NULL: there is no V8, or none that can be read. */
hs_name_frame_fn hs_js_frames_find_runtime(void);

/* A thread's walk begins. */
void hs_js_frames_begin_walk(struct hs_thread *thread);

/* Names the function of a frame of an earlier walk again, for replay, whose words lie in readable
 * stack: `bp` is its frame pointer. HS_ID_NONE in *ret_user: the frame has none. False: it is no
 * frame of a function. To be called between hs_js_frames_begin_walk and the next one. */
bool hs_js_frames_find_again(struct hs_thread *thread, uint64_t bp, uint32_t *ret_user);

/* Forgets what a thread knows: for a new region, or a new owner of its state. */
void hs_js_frames_forget(struct hs_thread *thread);
