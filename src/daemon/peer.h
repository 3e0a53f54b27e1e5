/*
 * Connections of commands: who is at the other end, and for how long we listen to him.
 *
 * A request is one datagram, its answer another; nothing is buffered, and who does not take his answer is hung
 * up on. Who says nothing for a while, too, unless he waits for a session's end. A user has a share of the
 * connections, so that nobody can take them all (root's are not counted); when they are taken, the one that was
 * silent for longest gives way.
 *
 * Holds     a peer's credentials are the kernel's, as of its connect().
 * Threads   one.
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
    struct hs_recording_job *awaited; /* it is told when that is done; NULL: nothing */
};

/* Takes over the connection; refuses it, if it must, in words. */
void hs_peer_add(struct hs_daemon *daemon, int connection_fd);

/* NULL is no peer: nothing happens. */
void hs_peer_drop(struct hs_daemon *daemon, struct hs_peer *peer);
void hs_peers_drop_all(struct hs_daemon *daemon);

/* Hangs up on who was silent for too long; returns when the next one will be. */
uint64_t hs_peers_expire(struct hs_daemon *daemon, uint64_t now_ns);

/* Is all of the machine his, as far as this daemon goes? */
bool hs_peer_is_root(const struct hs_daemon *daemon, const struct hs_peer *peer);
/* May he see and have what belongs to `uid`? */
bool hs_peer_may(const struct hs_daemon *daemon, const struct hs_peer *peer, uid_t uid);

/* What was sent, or -errno: then he is to be dropped. */
int hs_peer_reply(struct hs_peer *peer, enum hs_ctl_kind kind, const ProtobufCMessage *body,
                  const int *fds, size_t fd_count);
int hs_peer_refuse(struct hs_peer *peer, const char *format, ...) HS_PRINTF(2, 3);
