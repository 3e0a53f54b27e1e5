/*
 * Where a daemon listens: the same paths, in the same order, for programs that announce themselves
 * (client/life/daemon_lookup.h), for commands, and for the daemon itself.
 *
 *     HEAPSCOPE_SOCKET                  this path and no other
 *     $XDG_RUNTIME_DIR/heapscope.sock   the user's daemon
 *     /run/heapscope/heapscope.sock     the machine's daemon
 *
 * Threads   none.
 * Fails     -errno; see each function.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "fmt/ctl_layout.h"

/* The paths to try, the most specific first. Returns how many, 1 or 2. -ENAMETOOLONG, or -EINVAL:
 * the environment names a path that is not absolute. */
int hs_ctl_socket_paths(char ret_paths[2][HS_CTL_PATH_MAX + 1]);

/* Connects to the socket of this path, without blocking. The descriptor, or -errno; -EAGAIN: the
 * socket's queue is full. */
int hs_ctl_socket_connect(const char *path);

/* The same for an address of any kind. */
int hs_ctl_socket_connect_to(const struct sockaddr_un *addr, socklen_t addr_bytes);

/* Reads the credentials of the process at the other end, as of its connect() or listen(). 0 or
 * -errno. */
int hs_ctl_socket_peer(int sock, pid_t *ret_pid, uid_t *ret_uid, gid_t *ret_gid);
