/*
 * Calls a function of the client in a process that waits for the collector while it starts, without
 * borrowing a thread.
 *
 * The request is written into the process's memory, where the kernel checks the permission. The
 * connection tells the process when, and brings the answer.
 *
 * Trust     the process is hostile: its answer is a number, or none, and is awaited for a second.
 * Threads   no state.
 * Fails     -ETIME: no answer; -EPIPE: the process no longer waits; -ENOENT: it has no client of
 *           this version; otherwise -errno.
 * See       fmt/ctl_layout.h
 */
#pragma once

#include <stdint.h>

#include "fmt/ctl_layout.h"
#include "inject/remote/remote_memory.h"
#include "inject/remote/remote_objects.h"

/* Sends *request to the process at the other end of `fd`. *ret_value is what HS_DETOUR_ENTRY would
 * return. 0, or see Fails. */
int hs_waiting_call(int fd, const struct hs_remote_memory *memory,
                    const struct hs_remote_objects *objects,
                    const struct hs_detour_request_v1 *request, int64_t *ret_value);
