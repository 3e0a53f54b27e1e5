/*
 * Who records the process that the user means: a daemon, or another command; and which process that is.
 *
 * Everybody who may record something is asked for candidates. Just one in all: that is it. Otherwise it is said what
 * there is to choose from, or why there is none.
 *
 * A user who named a daemon (HEAPSCOPE_SOCKET) means its processes, and others only by their pid.
 *
 * Threads   main thread only.
 */
#pragma once

#include <stdint.h>

#include "cli/endpoints.h"

/* `pid` 0 and `name` NULL: the only one there is. 0, or the exit status, after having said why. */
int hs_recorded_find(uint32_t pid, const char *name, struct hs_endpoint *ret_place,
                     uint32_t *ret_pid);
