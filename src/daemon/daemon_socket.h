/*
 * The daemon's place in the file system: its socket, and the startup hint file beside it.
 *
 * A socket that a dead daemon left is replaced; one that somebody answers at is not. The startup hint file is replaced
 * as a whole, so that who starts just then reads the old or the new one.
 *
 * Holds     both files are ours alone to write. The startup hint file is there before the first program can connect.
 * Threads   one.
 * Fails     -EADDRINUSE: another daemon listens there; -EINVAL: what the supervisor gave is no such socket;
 *           -errno else.
 * See       fmt/ctl_layout.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/ctl_layout.h"

struct hs_daemon_socket {
    int fd;                  /* listening; -1: closed, or handed on */
    bool is_from_supervisor; /* then the socket's file is not ours to remove */
    char path[HS_CTL_PATH_MAX + 1];
    uint64_t interval_bytes; /* on the startup hint file */
};

/* `is_system`: for all users of the machine. */
int hs_daemon_socket_open(const char *path, bool is_system,
                          struct hs_daemon_socket *ret_daemon_socket);

/* With a socket that listens already, which is the daemon socket's then. A supervisor's file stays; one of a daemon that
 * was killed goes with us, and what its startup hint file says stays until we have something to say. */
int hs_daemon_socket_take(int fd, bool is_from_supervisor,
                          struct hs_daemon_socket *ret_daemon_socket);

/* What programs that start now are to do; 0: wait. Does nothing when it says so already. */
int hs_daemon_socket_write_hint(struct hs_daemon_socket *daemon_socket,
                                uint64_t startup_interval_bytes);

/* Takes both down. Fine on one that was never opened, with fd -1. */
void hs_daemon_socket_close(struct hs_daemon_socket *daemon_socket);
