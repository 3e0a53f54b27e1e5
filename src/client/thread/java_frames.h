/*
 * Java frames: what HotSpot's own tables say of its code, for the walk of a stack.
 *
 * Code that HotSpot compiles has no unwind information and no frame pointer. The client finds out
 * how large its frames are, and which Java methods they are, from the structures that libjvm.so
 * exports for debuggers (hotspot/hotspot_layout.h). It reads them when it meets the first code
 * without a file in a process that has libjvm.so. A frame is described at each walk anew: its code
 * and its method are in use, so nothing that is read can be another method's.
 *
 * Ensures   memory is read only where it can be: see client/host/readable_pages.h, and java_cache.h
 *           for methods and code that are known.
 * Threads   any, inside the guard; the structures are looked for by one thread at a time.
 * Fails     a frame that cannot be described is walked as code without information. A JVM whose
 *           structures are not as they should be is not read, and the region says why.
 * See       docs/adr/0046-java-frames.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "unwind/walk.h"

/* Called before the first sample in a region. */
void hs_java_frames_begin(void);

/* Is the code at `pc`, which is in no module, HotSpot's? `ret_is_new`: this was not known
 * before, and the rules of code that are cached may be wrong. */
bool hs_java_frames_has(uint64_t pc, bool *ret_is_new);

/* Describes a frame: implements hs_unwinder.vm_frame. */
bool hs_java_frames_describe(void *ctx, struct hs_vm_frame *frame);

/* For replay: is what hs_java_frames_describe has noted still so? The notes of frames further in
 * have been checked, and the stack words are the same. */
bool hs_java_frames_is_same(const struct hs_vm_note *note);
