/*
 * Where targets announce themselves: a socket, and the hello that comes through it.
 *
 * The socket's name is random, but not a secret (/proc/net/unix lists it). The protection is the
 * peer's user, which the kernel tells: it must be heapscope's own user, or root. If heapscope
 * itself runs as root, a process of heapscope's own session is accepted too, because a program that
 * was started as root may have given up its rights. From then on any process of that user is
 * accepted, also a dead one, whose session can no longer be found: that user could falsify what the
 * first process records anyway. A daemon for the whole machine lets processes of all users announce
 * themselves. Which user may then record which process is another question; the pending client
 * tells the process's user for that.
 *
 * The descriptor of the peer process (pidfd) comes from the connection itself where the kernel
 * supports that, so that a process with a reused pid is never mistaken for the peer.
 *
 * Ensures   every descriptor that a peer sends is received with close-on-exec, or closed.
 * Threads   one.
 * Fails     -errno; see each function.
 * See       fmt/ctl_layout.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/attach/pending_client.h"
#include "fmt/ctl_layout.h"

#define HS_LISTENER_USERS_MAX 16

struct hs_listener {
    int fd; /* -1: closed */
    bool is_open_to_all;
    char name[HS_CTL_NAME_MAX + 1];
    /* other users than root and heapscope's own, found in heapscope's session */
    uid_t users[HS_LISTENER_USERS_MAX];
    size_t user_count;
};

/* Opens a listener with a random name. 0 or -errno. */
int hs_listener_open(struct hs_listener *ret_listener);
/* Closes the listener. A zeroed struct with fd -1 is allowed. */
void hs_listener_close(struct hs_listener *listener);

/* Accepts the next connection, which does not block. -EAGAIN: none waits; -EMFILE and similar
 * errors: try later. */
int hs_listener_accept(const struct hs_listener *listener, int *ret_connection_fd);

/* Reads the first eight bytes of the next message, and leaves the message in the socket; 0: it is
 * shorter. -EAGAIN: there is no message yet. */
int hs_listener_peek(int connection_fd, uint64_t *ret_magic);

/* Finds out which process is at the other end: fills in pid, uid, pidfd and is_gone, with no
 * region; the caller closes the pidfd. 0; -EACCES: its user is not allowed; or another -errno. */
int hs_listener_find_peer(struct hs_listener *listener, int connection_fd,
                          struct hs_pending_client *ret_peer);

/* Receives a hello. 0; -EAGAIN: the message has not arrived yet; -EACCES: the peer's user is not
 * allowed; -EPROTO: not a hello; -ENODATA: the process ended before it sent one; -ECONNRESET: the
 * process closed the connection, and lives. The caller closes the connection. */
int hs_pending_client_receive(struct hs_listener *listener, int connection_fd,
                              struct hs_pending_client *ret_pending);
