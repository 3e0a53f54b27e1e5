/*
 * Where targets announce themselves: a socket, and the hello that comes through it.
 *
 * The name is random, but not a secret (/proc/net/unix lists it). What protects us is whom the
 * kernel says the peer is: our own user, or root. When we are root ourselves, also a process of
 * our own session, since a program started as root may have given up its rights; and from then on
 * any process of that user, dead ones too, whose session nobody can tell: that user could falsify
 * what the first one records anyway. A daemon for the whole machine lets everybody announce himself; who
 * may then record whom is another question, for which the pending client says whose process it is.
 *
 * A descriptor of the peer process (pidfd) comes from the connection itself where the kernel has
 * that, so that a pid that was reused meanwhile is never taken for the peer.
 *
 * Holds     every descriptor a peer sends is received with close-on-exec, or closed.
 * Threads   one.
 * Fails     -errno; see each function.
 * See       fmt/ctl_layout.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fmt/ctl_layout.h"

#define HS_LISTENER_USERS_MAX 16

struct hs_listener {
    int fd; /* -1: closed */
    bool is_open_to_all;
    char name[HS_CTL_NAME_MAX + 1];
    uid_t users[HS_LISTENER_USERS_MAX]; /* others than root and us, found in our session */
    size_t user_count;
};

/* A process that announced itself. */
struct hs_pending_client {
    struct hs_hello_v1 hello;
    int region_fd; /* the receiver's to close */
    int pidfd;     /* the receiver's to close; -1: gone already, or not to be had */
    bool is_gone;
    pid_t pid; /* as we see it; 0: in a pid namespace that we don't see */
    uid_t uid; /* when it connected */
};

int hs_listener_open(struct hs_listener *ret_listener);
/* Fine on a zeroed struct with fd -1. */
void hs_listener_close(struct hs_listener *listener);

/* Next connection, non-blocking; -EAGAIN: none waits; -EMFILE and such: later. */
int hs_listener_accept(const struct hs_listener *listener, int *ret_connection_fd);

/* The first eight bytes of a message that waits, which stays where it is; 0: it is shorter. -EAGAIN: there is
 * none yet. */
int hs_listener_peek(int connection_fd, uint64_t *ret_magic);

/* 0; -EAGAIN: its message is still to come; -EACCES: not one of ours; -EPROTO: not a hello;
 * -ENODATA: its process ended before it; -ECONNRESET: it hung up, and lives. The connection stays
 * the caller's to close. */
int hs_pending_client_receive(struct hs_listener *listener, int connection_fd,
                              struct hs_pending_client *ret_pending);
