/*
 * What systemd wants from a service, without its library: a few environment variables.
 *
 *     LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES   descriptors for us, from 3 on: sockets that it made, and what a
 *                                              daemon before us left there
 *     NOTIFY_SOCKET                            where to send "READY=1", "STOPPING=1"
 *
 * Threads   one.
 * Fails     quietly: without a supervisor nothing is to be told.
 * See       sd_listen_fds(3), sd_notify(3), sd_pid_notify_with_fds(3)
 */
#pragma once

#include "daemon/fdstore.h"

/* The socket that was made for us; -ENOENT: none was; -EINVAL: something that is not one of ours. What a daemon
 * left, whose names begin with `prefix`, goes to `items`. Forgets the variables, which are for this process only. */
int hs_supervisor_take(const char *prefix, struct hs_fdstore_items *items);

/* `state` as sd_notify(3) has it. */
void hs_supervisor_tell(const char *state);

/* A socket to tell it more than once; -1: there is nobody. */
int hs_supervisor_connect(void);
