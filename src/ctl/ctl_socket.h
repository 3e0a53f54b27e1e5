/*
 * Where a daemon listens: the same places, in the same order, for programs that announce themselves
 * (client/daemon_lookup.h), for commands, and for the daemon itself.
 *
 *     HEAPSCOPE_SOCKET                  that one and no other
 *     $XDG_RUNTIME_DIR/heapscope.sock   the user's
 *     /run/heapscope/heapscope.sock     the machine's
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

/* The places to try, most particular first; returns how many, 1 or 2. -ENAMETOOLONG, or -EINVAL: the
 * environment names one that is no absolute path. */
int hs_ctl_socket_paths(char ret_paths[2][HS_CTL_PATH_MAX + 1]);

/* A connection to a socket of this path, which must not block yet: -EAGAIN its queue is full. */
int hs_ctl_socket_connect(const char *path);

/* The same for an address of any kind. */
int hs_ctl_socket_connect_to(const struct sockaddr_un *addr, socklen_t addr_bytes);

/* Who is at the other end, as of its connect() or listen(). */
int hs_ctl_socket_peer(int sock, pid_t *ret_pid, uid_t *ret_uid, gid_t *ret_gid);
