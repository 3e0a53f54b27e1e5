/*
 * The daemon socket: the socket in the file system at which programs and commands connect, and the
 * startup hint file beside it.
 *
 * A socket that a dead daemon left is replaced; one at which a daemon still listens is not. The
 * startup hint file is replaced as a whole, so that a program that starts at that moment reads the
 * old or the new one.
 *
 * Ensures   only our user can write to the startup hint file. That file exists before the first
 *           program can connect.
 * Threads   one.
 * Fails     -EADDRINUSE: another daemon listens there; -EEXIST: the path is not a socket; -EINVAL:
 *           the path is not absolute; otherwise -errno.
 * See       fmt/ctl_layout.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/ctl_layout.h"
#include "session/hub.h"

struct hs_daemon_socket {
    int fd;                  /* listening; -1: closed, or owned by the registry */
    bool is_from_supervisor; /* the supervisor made the socket's file and will remove it */
    char path[HS_CTL_PATH_MAX + 1];
    struct hs_startup hint; /* what the startup hint file says; interval UINT64_MAX: unknown */
};

/* Makes a socket that listens at `path`, and the startup hint file. `is_system`: all users of the
 * machine may connect. Returns 0 or -errno. */
int hs_daemon_socket_open(const char *path, bool is_system,
                          struct hs_daemon_socket *ret_daemon_socket);

/* Takes over a socket that listens already, and closes it on an error. If it is the supervisor's,
 * its file stays when we end; if it is that of a daemon that was killed, we remove the file. The
 * startup hint file stays as the previous daemon wrote it until hs_daemon_socket_write_hint().
 * Returns 0 or -errno. */
int hs_daemon_socket_take(int fd, bool is_from_supervisor,
                          struct hs_daemon_socket *ret_daemon_socket);

/* Writes the startup hint file: how programs that start record at once; interval 0: they wait for
 * the daemon. Does nothing if the file says that already. Returns 0 or -errno. */
int hs_daemon_socket_write_hint(struct hs_daemon_socket *daemon_socket,
                                const struct hs_startup *startup);

/* The same; an error is logged. Call it after a session began or ended. */
void hs_daemon_socket_update_hint(struct hs_daemon_socket *daemon_socket,
                                  const struct hs_startup *startup);

/* Closes the socket, and removes the startup hint file and, unless the supervisor made it, the
 * socket's file. Accepts one that was never opened, with fd -1. */
void hs_daemon_socket_close(struct hs_daemon_socket *daemon_socket);
