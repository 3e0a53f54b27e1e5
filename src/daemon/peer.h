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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctl/ctl_message.h"
#include "daemon/event_loop.h"
#include "daemon/recording_job.h"
#include "daemon/user_rights.h"

#define HS_PEERS_MAX       512
#define HS_PEER_GROUPS_MAX 256

struct hs_peers;

struct hs_peer {
    struct hs_peers *peers; /* the list that it is in */
    struct hs_event_source source;
    int fd;
    pid_t pid;
    struct hs_user_rights rights;
    uint64_t heard_ns;                /* CLOCK_MONOTONIC of its last request */
    struct hs_recording_job *awaited; /* the peer gets an answer when this is done; NULL: none */
};

/* A peer has sent a message. The callee may take descriptors out of it. Returns 0, or -errno: the
 * peer is then dropped. */
typedef int hs_peer_request_fn(void *ctx, struct hs_peer *peer, struct hs_ctl_message *message);

/* The daemon's peers, with what they need of the daemon. The owner sets the first five fields. */
struct hs_peers {
    struct hs_event_loop *loop;
    bool is_system; /* they may be of any user; false: only of this one, and root */
    uid_t uid;
    hs_peer_request_fn *on_request;
    void *ctx;
    struct hs_peer *list[HS_PEERS_MAX];
    size_t count;
};

/* Takes over the connection, or refuses it with a message that says why. */
void hs_peer_add(struct hs_peers *peers, int connection_fd);

/* Disconnects a peer. NULL: does nothing. */
void hs_peer_drop(struct hs_peer *peer);
/* Disconnects all peers. */
void hs_peers_drop_all(struct hs_peers *peers);

/* Disconnects peers that were silent for too long. Returns when to call it again (CLOCK_MONOTONIC;
 * UINT64_MAX: no peer can expire). */
uint64_t hs_peers_expire(struct hs_peers *peers, uint64_t now_ns);

/* May the peer see and record everything that this daemon serves? */
bool hs_peer_is_root(const struct hs_peer *peer);
/* May the peer see and record what belongs to `uid`? */
bool hs_peer_may(const struct hs_peer *peer, uid_t uid);

/* The peer gets an answer when the job is done. */
void hs_peer_await(struct hs_peer *peer, struct hs_recording_job *job);
/* The answer comes now: the peer may send requests again. */
void hs_peer_end_await(struct hs_peer *peer, uint64_t now_ns);

/* Sends an answer. Returns 0, or -errno: the caller must then drop the peer. */
int hs_peer_reply(struct hs_peer *peer, enum hs_ctl_kind kind, const ProtobufCMessage *body,
                  const int *fds, size_t fd_count);
/* Sends a refusal with its reason. Returns as hs_peer_reply() does. */
int hs_peer_refuse(struct hs_peer *peer, const char *format, ...) HS_PRINTF(2, 3);
