/*
 * From a frame to its caller, with a whole row of call frame information.
 */
#pragma once

#include "unwind/frame.h"
#include "unwind/module.h"
#include "unwind/reader.h"

/* Interprets the call frame information at the frame's pc, and makes *frame its caller. If the
 * result is not HS_FRAME_STEPPED, *frame is unchanged. */
enum hs_frame_step hs_frame_step(const struct hs_unwind_module *module,
                                 struct hs_stack_reader *reader, struct hs_frame *frame);
