/*
 * Reads a name from the memory of a process.
 *
 * Trust     the text is hostile: it is bounded, and one that has control characters or is not UTF-8
 *           is none.
 * Threads   no state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/types/type_memory.h"

/* Reads the string at `va` with its NUL. False: it has no byte or does not fit, it cannot be read,
 * or it is no text. */
bool hs_type_text_read(const struct hs_type_memory *memory, uint64_t va, char *ret_text,
                       size_t room_bytes);
