/*
 * Tools and emulators under which the client must not record.
 *
 * Threads   once, at start.
 */
#pragma once

#include <stdbool.h>

/* Is the process one in which nothing may be recorded? Either a tool checks its memory accesses, or
 * the kernel does not say what can be read. */
bool hs_checker_is_there(void);
