/*
 * Finds the process that the user means, and the daemon or other command that records it.
 *
 * All endpoints are asked for candidates. When there is exactly one, it is the answer. Otherwise a
 * message lists the candidates, or says why there is none.
 *
 * When the user has named a daemon (HEAPSCOPE_SOCKET), the search covers the processes of that
 * daemon, and others only by their pid.
 *
 * Threads   main thread only.
 */
#pragma once

#include <stdint.h>

#include "cli/daemon_client/endpoints.h"

/* Finds a process by `pid`, or by `name`; `pid` 0 and `name` NULL: the only one. 0, or the exit
 * status, after a message. */
int hs_recorded_find(uint32_t pid, const char *name, struct hs_endpoint *ret_place,
                     uint32_t *ret_pid);
