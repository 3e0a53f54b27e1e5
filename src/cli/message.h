/*
 * Messages for people, on standard error, each line with the prefix "heapscope: ".
 *
 * Only src/cli prints. A message goes out in one write, so that it is not torn apart by what the
 * profiled program prints to the same terminal meanwhile.
 *
 * Threads   any.
 * Fails     never: a message that cannot be written is lost. errno is left alone.
 */
#pragma once

#include <stdbool.h>

#include "rt/base.h"

/* '\n' inside the text starts a new line, with a prefix of its own; none is needed at the end. */
void hs_message(const char *format, ...) HS_PRINTF(1, 2);

/* The same, silent after hs_message_set_quiet(true): for what is good to know, not for errors. */
void hs_message_info(const char *format, ...) HS_PRINTF(1, 2);

void hs_message_set_quiet(bool is_quiet);
