/*
 * Peers: the connections of commands to the daemon.
 *
 * A request is one datagram, and its answer is another one; nothing is buffered. A peer that does
 * not read its answer is disconnected. So is a peer that sends nothing for 10 seconds, unless it
 * waits for the end of a session. Each user has a share of the connections, so that no user can
 * take them all (root's connections are not limited). When all connections are in use, the peer
 * that was silent for longest is disconnected.
 *
 * Ensures   a peer's credentials are those that the kernel recorded at its connect().
 * Threads   one.
 * Fails     a peer that cannot be served is refused with a message, or disconnected.
 */
#pragma once

#include <stddef.h>

#include "ctl/ctl_message.h"
#include "daemon/daemon.h"

#define HS_PEER_GROUPS_MAX 256

struct hs_peer {
    struct hs_source source;
    int fd;
    pid_t pid;
    uid_t uid;
    gid_t gid;
    gid_t *groups; /* supplementary */
    size_t group_count;
    uint64_t heard_ns;                /* CLOCK_MONOTONIC of its last request */
    struct hs_recording_job *awaited; /* the peer gets an answer when this is done; NULL: none */
};

/* Takes over the connection, or refuses it with a message that says why. */
void hs_peer_add(struct hs_daemon *daemon, int connection_fd);

/* Disconnects a peer. NULL: does nothing. */
void hs_peer_drop(struct hs_daemon *daemon, struct hs_peer *peer);
/* Disconnects all peers. */
void hs_peers_drop_all(struct hs_daemon *daemon);

/* Disconnects peers that were silent for too long. Returns when to call it again (CLOCK_MONOTONIC;
 * UINT64_MAX: no peer can expire). */
uint64_t hs_peers_expire(struct hs_daemon *daemon, uint64_t now_ns);

/* May the peer see and record everything that this daemon serves? */
bool hs_peer_is_root(const struct hs_daemon *daemon, const struct hs_peer *peer);
/* May the peer see and record what belongs to `uid`? */
bool hs_peer_may(const struct hs_daemon *daemon, const struct hs_peer *peer, uid_t uid);

/* Sends an answer. Returns 0, or -errno: the caller must then drop the peer. */
int hs_peer_reply(struct hs_peer *peer, enum hs_ctl_kind kind, const ProtobufCMessage *body,
                  const int *fds, size_t fd_count);
/* Sends a refusal with its reason. Returns as hs_peer_reply() does. */
int hs_peer_refuse(struct hs_peer *peer, const char *format, ...) HS_PRINTF(2, 3);
