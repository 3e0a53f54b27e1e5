/*
 * Connections of commands: see peer.h.
 */
#include "daemon/peer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ctl/ctl_socket.h"
#include "daemon/recording_job.h"
#include "daemon/requests.h"

#define HS_PEERS_OF_USER_MAX 144 /* more than the 128 that may wait for a user's sessions to end */
#define HS_SILENCE_MAX_NS    UINT64_C(10000000000)

/* --- users and shares ------------------------------------------------------------------------- */

bool hs_peer_is_root(const struct hs_daemon *daemon, const struct hs_peer *peer)
{
    return peer->uid == 0 || !daemon->is_system;
}

bool hs_peer_may(const struct hs_daemon *daemon, const struct hs_peer *peer, uid_t uid)
{
    return hs_peer_is_root(daemon, peer) || peer->uid == uid;
}

static int read_groups(struct hs_peer *peer)
{
    socklen_t bytes = HS_PEER_GROUPS_MAX * sizeof(gid_t);
    peer->groups = malloc(bytes);
    if (!peer->groups) {
        return -ENOMEM;
    }
    if (getsockopt(peer->fd, SOL_SOCKET, SO_PEERGROUPS, peer->groups, &bytes) != 0) {
        return -errno;
    }
    peer->group_count = bytes / sizeof(gid_t);
    return 0;
}

static size_t count_of_user(const struct hs_daemon *daemon, uid_t uid)
{
    size_t count = 0;
    for (size_t i = 0; i < daemon->peer_count; i++) {
        count += daemon->peers[i]->uid == uid;
    }
    return count;
}

/* Disconnects the peer that was silent for longest; with `of_user` only among the peers of the
 * new peer's user. Returns false if all of them wait for the end of a session. */
static bool make_room(struct hs_daemon *daemon, const struct hs_peer *new_peer, bool of_user)
{
    struct hs_peer *oldest = NULL;
    for (size_t i = 0; i < daemon->peer_count; i++) {
        struct hs_peer *peer = daemon->peers[i];
        if (!peer->awaited && (!of_user || peer->uid == new_peer->uid) &&
            (!oldest || peer->heard_ns < oldest->heard_ns)) {
            oldest = peer;
        }
    }
    hs_peer_drop(daemon, oldest);
    return oldest != NULL;
}

/* Why a new peer is refused; NULL: it is accepted. */
static const char *why_refused(struct hs_daemon *daemon, const struct hs_peer *peer)
{
    if (!daemon->is_system && peer->uid != daemon->uid && peer->uid != 0) {
        return "this daemon serves another user";
    }
    bool is_share_taken =
        peer->uid != 0 && count_of_user(daemon, peer->uid) >= HS_PEERS_OF_USER_MAX;
    if ((is_share_taken && !make_room(daemon, peer, true)) ||
        (daemon->peer_count == HS_PEERS_MAX && !make_room(daemon, peer, false))) {
        return "there are too many connections; try again later";
    }
    return NULL;
}

/* --- requests --------------------------------------------------------------------------------- */

static void on_request(struct hs_daemon *daemon, void *of, uint64_t now_ns)
{
    struct hs_peer *peer = of;
    struct hs_ctl_message message;
    int r = hs_ctl_receive(peer->fd, false, &message);
    if (r == -EAGAIN) {
        return;
    }
    if (r == 0) {
        peer->heard_ns = now_ns;
        r = hs_request_handle(daemon, peer, &message);
        hs_ctl_message_deinit(&message);
    } else if (r == -EPROTONOSUPPORT) {
        hs_peer_refuse(peer, "the daemon is heapscoped " HS_VERSION
                             ", which does not know this version of heapscope's messages");
    }
    if (r < 0) {
        hs_peer_drop(daemon, peer);
    }
}

static void free_peer(struct hs_peer *peer)
{
    close(peer->fd);
    free(peer->groups);
    free(peer);
}

void hs_peer_add(struct hs_daemon *daemon, int connection_fd)
{
    struct hs_ctl_message message;
    struct hs_peer *peer = calloc(1, sizeof(*peer));
    if (!peer) {
        close(connection_fd);
        return;
    }
    peer->fd = connection_fd;
    peer->source = (struct hs_source){ on_request, peer };
    peer->heard_ns = hs_daemon_mono_ns();
    int r = hs_ctl_socket_peer(peer->fd, &peer->pid, &peer->uid, &peer->gid);
    if (r == 0) {
        r = read_groups(peer);
    }
    const char *why =
        r == 0 ? why_refused(daemon, peer) : "the kernel does not say which user is connected";
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
    if (hs_daemon_watch(daemon, peer->fd, &peer->source) < 0) {
        free_peer(peer);
        return;
    }
    daemon->peers[daemon->peer_count++] = peer;
}

void hs_peer_drop(struct hs_daemon *daemon, struct hs_peer *peer)
{
    for (size_t i = 0; peer && i < daemon->peer_count; i++) {
        if (daemon->peers[i] == peer) {
            daemon->peers[i] = daemon->peers[--daemon->peer_count];
            if (peer->awaited) {
                hs_recording_job_miss_owner(peer->awaited, hs_daemon_mono_ns());
            }
            hs_daemon_unwatch(daemon, peer->fd);
            free_peer(peer);
            return;
        }
    }
}

void hs_peers_drop_all(struct hs_daemon *daemon)
{
    while (daemon->peer_count > 0) {
        hs_peer_drop(daemon, daemon->peers[0]);
    }
}

uint64_t hs_peers_expire(struct hs_daemon *daemon, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = daemon->peer_count; i > 0; i--) {
        struct hs_peer *peer = daemon->peers[i - 1];
        uint64_t over_ns = peer->heard_ns + HS_SILENCE_MAX_NS;
        if (peer->awaited) {
            continue;
        }
        if (now_ns >= over_ns) {
            hs_peer_drop(daemon, peer);
        } else if (over_ns < next_ns) {
            next_ns = over_ns;
        }
    }
    return next_ns;
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
