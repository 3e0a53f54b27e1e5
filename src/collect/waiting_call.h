/*
 * A process that waits for us while it starts: a call of the client in it, without borrowing a thread.
 *
 * The request goes into its memory, where the kernel asks whether we may; the connection says when, and brings the
 * answer.
 *
 * Trust     the process is hostile: its answer is a number, or none, and comes within a second.
 * Threads   no state.
 * Fails     -ETIME: no answer; -EPIPE: it does not wait any more; -ENOENT: it has no client of this version; -errno else.
 * See       fmt/ctl_layout.h
 */
#pragma once

#include <stdint.h>

#include "fmt/ctl_layout.h"
#include "inject/remote_memory.h"
#include "inject/remote_objects.h"

/* *ret_value: what HS_DETOUR_ENTRY would return. */
int hs_waiting_call(int fd, const struct hs_remote_memory *memory,
                    const struct hs_remote_objects *objects,
                    const struct hs_detour_request_v1 *request, int64_t *ret_value);
