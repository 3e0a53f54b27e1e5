/*
 * Messages on standard error for the user, each line with the prefix "heapscope: ".
 *
 * Of all folders, only src/cli prints them. A message goes out in one write, so that output of the
 * profiled program to the same terminal does not tear it apart.
 *
 * Threads   any.
 * Fails     never: a message that cannot be written is lost. errno stays as it was.
 */
#pragma once

#include <stdbool.h>

#include "rt/base.h"

/* Prints a message. A '\n' inside the text starts a new line with its own prefix; none is needed at
 * the end. */
void hs_message(const char *format, ...) HS_PRINTF(1, 2);

/* Prints this text. */
void hs_message_text(const char *text);

/* Prints information, not an error: silent after hs_message_set_quiet(true). */
void hs_message_info(const char *format, ...) HS_PRINTF(1, 2);

/* Turns hs_message_info() off and on. */
void hs_message_set_quiet(bool is_quiet);
