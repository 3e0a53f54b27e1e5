/*
 * Sends and receives datagrams with file descriptors over a unix socket.
 *
 * Ensures   received descriptors are close-on-exec. Descriptors for which the caller has no room
 *           are closed.
 * Threads   any.
 * Fails     -errno; -ECONNRESET: the other end is closed.
 * See       unix(7), SCM_RIGHTS
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define HS_FD_MESSAGE_FDS_MAX 16U

/*
 * Sends one datagram with at most HS_FD_MESSAGE_FDS_MAX descriptors (more: -EMSGSIZE), which the
 * caller keeps open. `flags` are those of sendmsg(2). Never raises SIGPIPE. Returns 0 or -errno.
 */
int hs_fd_message_send(int sock, const void *data, size_t bytes, const int *fds, size_t fd_count,
                       int flags);

/*
 * Receives one datagram and at most `fd_max` descriptors. Returns the datagram's size in bytes, 0
 * at the end of the connection, or -errno. A datagram longer than `bytes` is cut; a caller that
 * must notice passes room for one byte more than it accepts. `flags` are those of recvmsg(2).
 */
ssize_t hs_fd_message_receive(int sock, void *data, size_t bytes, int *ret_fds, size_t fd_max,
                              size_t *ret_fd_count, int flags);
