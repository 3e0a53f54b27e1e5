/*
 * systemd's protocols for services, without its library. They use environment variables:
 *
 *     LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES   descriptors for us, from 3 on: sockets that systemd
 *                                              made, and those that a previous daemon left
 *     NOTIFY_SOCKET                            where to send "READY=1" and "STOPPING=1"
 *
 * Threads   one.
 * Fails     silently: without a supervisor there is nothing to notify.
 * See       sd_listen_fds(3), sd_notify(3), sd_pid_notify_with_fds(3)
 */
#pragma once

#include "daemon/handover/fdstore.h"

/* Returns the listening socket that the supervisor made for us; -ENOENT: none; -EINVAL: a
 * descriptor that is not such a socket, or more than one. Descriptors that a previous daemon left
 * have names that begin with `prefix`; they go to `items`. Removes the variables, which are for
 * this process only. */
int hs_supervisor_take(const char *prefix, struct hs_fdstore_items *items);

/* Sends the supervisor a state like "READY=1", as in sd_notify(3). */
void hs_supervisor_tell(const char *state);

/* The supervisor's store, if it holds descriptors for us; otherwise HS_FDSTORE_NONE. */
struct hs_fdstore hs_supervisor_fdstore(void);
