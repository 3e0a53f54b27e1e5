/*
 * Writing all of something: write(2) may take a part, or be interrupted.
 *
 * Threads   any; async-signal-safe.
 * Fails     -errno of the write that failed; what came before it is written.
 */
#pragma once

#include <stddef.h>

int hs_write_all(int fd, const void *data, size_t bytes);
