/*
 * Which user is at the other end of a connection over loopback?
 *
 * TCP has no SO_PEERCRED. But both ends of such a connection are sockets of this machine, and the
 * kernel says whose socket the other end is: over netlink (sock_diag) about one connection, or in
 * /proc/net/tcp about all of them.
 *
 * A socket that its process has closed belongs to no user, and the kernel then reports user 0. So
 * only an established connection with an inode counts: otherwise a process of another user could
 * connect, send, close, and pass as root.
 *
 * Threads   no state.
 * Fails     -ENOENT: there is no such established connection; -errno: the kernel does not say.
 * See       sock_diag(7), proc(5)
 */
#pragma once

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The user of the socket `peer`, which is connected to `own`. Both are addresses of IPv4. 0 or
 * -errno. */
int hs_peer_user(const struct sockaddr_in *peer, const struct sockaddr_in *own, uid_t *ret_uid);

/* The same from the text of /proc/net/tcp. 0, or -ENOENT. */
int hs_peer_user_parse(const char *text, size_t text_bytes, const struct sockaddr_in *peer,
                       const struct sockaddr_in *own, uid_t *ret_uid);
/* The same, from the file itself. */
int hs_peer_user_from_proc(const struct sockaddr_in *peer, const struct sockaddr_in *own,
                           uid_t *ret_uid);
