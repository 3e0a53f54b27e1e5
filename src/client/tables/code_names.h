/*
 * The names of frames that are not native code: functions that an interpreter runs. Each text and
 * each name is stored once, in the region (BYTES and CODE_NAMES), so that they outlive the program.
 *
 * Threads   any; lock-free; async-signal-safe. Two threads that meet a new name at the same time
 *           may store it twice.
 * Fails     0 for a text and HS_ID_NONE for a frame, when a section is full or memory is short.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/region_layout.h"

/* Makes the indexes. False: no memory. */
bool hs_code_names_init(void);

/* Forgets all names: for a new region. No other thread may use them meanwhile. */
void hs_code_names_clear(void);

/* The offset in BYTES of a text of `bytes` bytes, which contains no NUL; it is stored if it is
 * new. */
uint32_t hs_code_text_intern(const char *text, uint32_t bytes);

/* The id of the frame (in FRAMES) with this name, which is stored if it is new. `hash` of the name
 * is ignored. */
uint32_t hs_code_frame_intern(const struct hs_code_name_v2 *name);

/* Writes in the header of this region and of those that follow what is known of a language's
 * interpreter: enum hs_code_language, enum hs_script_state. */
void hs_code_names_note_state(uint32_t language, uint32_t state);
