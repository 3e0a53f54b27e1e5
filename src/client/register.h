/*
 * Handing the region to the collector: one message, no answer. See fmt/ctl_layout.h.
 *
 * Fails     -errno; the process then goes on unprofiled.
 */
#pragma once

#include <stdbool.h>

/* `name`: abstract socket name without its leading NUL. `fd` stays the caller's. */
int hs_register(const char *name, int fd, bool has_own_malloc);
