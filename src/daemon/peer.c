/*
 * Connections of commands: see peer.h.
 */
#include "daemon/peer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ctl_socket.h"
#include "rt/clock.h"

#define HS_PEERS_OF_USER_MAX 144 /* more than the 128 that may wait for a user's sessions to end */
#define HS_SILENCE_MAX_NS    UINT64_C(10000000000)

/* --- users and shares ------------------------------------------------------------------------- */

bool hs_peer_is_root(const struct hs_peer *peer)
{
    return peer->rights.uid == 0 || !peer->peers->is_system;
}

bool hs_peer_may(const struct hs_peer *peer, uid_t uid)
{
    return hs_peer_is_root(peer) || peer->rights.uid == uid;
}

static int read_rights(struct hs_peer *peer)
{
    uid_t uid;
    gid_t gid, groups[HS_PEER_GROUPS_MAX];
    socklen_t bytes = sizeof(groups);
    int r = hs_ctl_socket_peer(peer->fd, &peer->pid, &uid, &gid);
    if (r == 0 && getsockopt(peer->fd, SOL_SOCKET, SO_PEERGROUPS, groups, &bytes) != 0) {
        r = -errno;
    }
    return r < 0 ? r : hs_user_rights_init(&peer->rights, uid, gid, groups, bytes / sizeof(gid_t));
}

static size_t count_of_user(const struct hs_peers *peers, uid_t uid)
{
    size_t count = 0;
    for (size_t i = 0; i < peers->count; i++) {
        count += peers->list[i]->rights.uid == uid;
    }
    return count;
}

/* Disconnects the peer that was silent for longest; with `of_user` only among the peers of the
 * new peer's user. Returns false if all of them wait for the end of a session. */
static bool make_room(struct hs_peers *peers, const struct hs_peer *new_peer, bool of_user)
{
    struct hs_peer *oldest = NULL;
    for (size_t i = 0; i < peers->count; i++) {
        struct hs_peer *peer = peers->list[i];
        if (!peer->awaited && (!of_user || peer->rights.uid == new_peer->rights.uid) &&
            (!oldest || peer->heard_ns < oldest->heard_ns)) {
            oldest = peer;
        }
    }
    hs_peer_drop(oldest);
    return oldest != NULL;
}

/* Why a new peer is refused; NULL: it is accepted. */
static const char *why_refused(struct hs_peers *peers, const struct hs_peer *peer)
{
    uid_t uid = peer->rights.uid;
    if (!peers->is_system && uid != peers->uid && uid != 0) {
        return "this daemon serves another user";
    }
    bool is_share_taken = uid != 0 && count_of_user(peers, uid) >= HS_PEERS_OF_USER_MAX;
    if ((is_share_taken && !make_room(peers, peer, true)) ||
        (peers->count == HS_PEERS_MAX && !make_room(peers, peer, false))) {
        return "there are too many connections; try again later";
    }
    return NULL;
}

/* --- requests --------------------------------------------------------------------------------- */

static void on_request(void *of, uint64_t now_ns)
{
    struct hs_peer *peer = of;
    const struct hs_peers *peers = peer->peers;
    struct hs_ctl_message message;
    int r = hs_ctl_receive(peer->fd, false, &message);
    if (r == -EAGAIN) {
        return;
    }
    if (r == 0) {
        peer->heard_ns = now_ns;
        r = peer->awaited ? -EPROTO /* it must wait for its answer before the next request */
                          : peers->on_request(peers->ctx, peer, &message);
        hs_ctl_message_deinit(&message);
    } else if (r == -EPROTONOSUPPORT) {
        hs_peer_refuse(peer, "the daemon is heapscoped " HS_VERSION
                             ", which does not know this version of heapscope's messages");
    }
    if (r < 0) {
        hs_peer_drop(peer);
    }
}

static void free_peer(struct hs_peer *peer)
{
    close(peer->fd);
    hs_user_rights_deinit(&peer->rights);
    free(peer);
}

void hs_peer_add(struct hs_peers *peers, int connection_fd)
{
    struct hs_ctl_message message;
    struct hs_peer *peer = calloc(1, sizeof(*peer));
    if (!peer) {
        close(connection_fd);
        return;
    }
    peer->peers = peers;
    peer->fd = connection_fd;
    peer->source = (struct hs_event_source){ on_request, peer };
    peer->heard_ns = hs_clock_ns(CLOCK_MONOTONIC);
    const char *why = read_rights(peer) == 0 ? why_refused(peers, peer)
                                             : "the kernel does not say which user is connected";
    if (why) {
        /* The request is read first: closing a socket with unread data is an error for the peer,
         * which would see that error before the answer. */
        if (hs_ctl_receive(peer->fd, false, &message) == 0) {
            hs_ctl_message_deinit(&message);
        }
        hs_peer_refuse(peer, "%s", why);
        free_peer(peer);
        return;
    }
    if (hs_event_loop_add(peers->loop, peer->fd, &peer->source) < 0) {
        free_peer(peer);
        return;
    }
    peers->list[peers->count++] = peer;
}

void hs_peer_drop(struct hs_peer *peer)
{
    struct hs_peers *peers = peer ? peer->peers : NULL;
    for (size_t i = 0; peer && i < peers->count; i++) {
        if (peers->list[i] == peer) {
            peers->list[i] = peers->list[--peers->count];
            if (peer->awaited) {
                hs_recording_job_drop_waiting(peer->awaited, hs_clock_ns(CLOCK_MONOTONIC));
            }
            hs_event_loop_remove(peers->loop, peer->fd);
            free_peer(peer);
            return;
        }
    }
}

void hs_peers_drop_all(struct hs_peers *peers)
{
    while (peers->count > 0) {
        hs_peer_drop(peers->list[0]);
    }
}

uint64_t hs_peers_expire(struct hs_peers *peers, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = peers->count; i > 0; i--) {
        struct hs_peer *peer = peers->list[i - 1];
        uint64_t over_ns = peer->heard_ns + HS_SILENCE_MAX_NS;
        if (peer->awaited) {
            continue;
        }
        if (now_ns >= over_ns) {
            hs_peer_drop(peer);
        } else if (over_ns < next_ns) {
            next_ns = over_ns;
        }
    }
    return next_ns;
}

/* --- waiting for a job ------------------------------------------------------------------------ */

void hs_peer_await(struct hs_peer *peer, struct hs_recording_job *job)
{
    peer->awaited = job;
    hs_recording_job_add_waiting(job);
}

void hs_peer_end_await(struct hs_peer *peer, uint64_t now_ns)
{
    hs_recording_job_drop_waiting(peer->awaited, now_ns);
    peer->awaited = NULL;
    peer->heard_ns = now_ns;
}

/* --- answers ---------------------------------------------------------------------------------- */

int hs_peer_reply(struct hs_peer *peer, enum hs_ctl_kind kind, const ProtobufCMessage *body,
                  const int *fds, size_t fd_count)
{
    return hs_ctl_send(peer->fd, kind, body, fds, fd_count);
}

int hs_peer_refuse(struct hs_peer *peer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int r = hs_ctl_refuse_args(peer->fd, format, args);
    va_end(args);
    return r;
}
