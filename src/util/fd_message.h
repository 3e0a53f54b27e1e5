/*
 * A datagram with descriptors, over a unix socket.
 *
 * Holds     what is received is close-on-exec; descriptors that there is no room for are closed.
 * Threads   any.
 * Fails     -errno; -ECONNRESET: nobody is at the other end any more.
 * See       unix(7), SCM_RIGHTS
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define HS_FD_MESSAGE_FDS_MAX 16U

/* `fds` stay the caller's. `flags` as sendmsg(2) has them; SIGPIPE never comes. */
int hs_fd_message_send(int sock, const void *data, size_t bytes, const int *fds, size_t fd_count,
                       int flags);

/* Returns the datagram's size, 0 at the end of a connection. What is longer than `bytes` is cut; whoever must
 * know asks for one byte more. `flags` as recvmsg(2) has them. */
ssize_t hs_fd_message_receive(int sock, void *data, size_t bytes, int *ret_fds, size_t fd_max,
                              size_t *ret_fd_count, int flags);
