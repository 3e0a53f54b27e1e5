/*
 * The class of the functions of a watched process: which of them a stack is named after. It is the
 * class that the function has in a report (profile/model/frame_class.h, analyse/runtimes.h), except
 * that a function which only allocates for its callers is known by its name alone.
 *
 *     if (hs_event_classes_note(&languages, snap, frame)) { classes of other frames have changed }
 *     hs_event_class_of(languages, snap, frame, name);
 *
 * Trust     frames and names come from the process: a wrong class is a bad name for a stack.
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/model/frame_class.h"
#include "watch/receive/watch_state.h"

/* Notes the language of a frame in *languages, a set of bits by enum hs_code_language. True: it is
 * the first one of this language. */
bool hs_event_classes_note(uint32_t *languages, const struct hs_snapshot *snap,
                           const struct hs_snap_frame *frame);

/* `name`: of the function, demangled; "": it has none. `module_path`: "": none. */
enum hs_frame_class hs_event_class_of(uint32_t languages, const struct hs_snapshot *snap,
                                      const struct hs_snap_frame *frame, const char *name,
                                      const char *module_path);
