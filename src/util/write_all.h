/*
 * Writes a whole buffer: write(2) may write only a part, or be interrupted.
 *
 * Threads   any; async-signal-safe.
 * Fails     -errno of the write that failed; earlier parts are written.
 */
#pragma once

#include <stddef.h>

/* Writes `bytes` bytes to `fd`. Returns 0 or -errno. */
int hs_write_all(int fd, const void *data, size_t bytes);
