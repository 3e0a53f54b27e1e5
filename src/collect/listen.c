/*
 * The socket and the hello: see listen.h.
 */
#include "collect/listen.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "collect/region/region_lock.h"
#include "util/fd_message.h"
#include "util/proc.h"

/* A thousand processes of a build may announce themselves while the collector writes a dump. */
#define HS_BACKLOG      4096
#define HS_SO_PEERPIDFD 77

int hs_listener_open(struct hs_listener *ret_listener)
{
    struct hs_listener listener = { .fd = -1 };
    uint64_t random[2];
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
        return -errno;
    }
    int len =
        snprintf(listener.name, sizeof(listener.name), HS_CTL_COLLECTOR_PREFIX "%016llx%016llx",
                 (unsigned long long)random[0], (unsigned long long)random[1]);
    memcpy(addr.sun_path + 1, listener.name, (size_t)len);
    socklen_t addr_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
    listener.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener.fd < 0) {
        return -errno;
    }
    if (bind(listener.fd, (struct sockaddr *)&addr, addr_bytes) != 0 ||
        listen(listener.fd, HS_BACKLOG) != 0) {
        int r = -errno;
        close(listener.fd);
        return r;
    }
    *ret_listener = listener;
    return 0;
}

void hs_listener_close(struct hs_listener *listener)
{
    if (listener->fd >= 0) {
        close(listener->fd);
        listener->fd = -1;
    }
}

int hs_listener_accept(const struct hs_listener *listener, int *ret_connection_fd)
{
    int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        return -errno;
    }
    *ret_connection_fd = fd;
    return 0;
}

static bool is_allowed(struct hs_listener *listener, const struct ucred *peer)
{
    if (peer->uid == geteuid() || peer->uid == 0 || listener->is_open_to_all) {
        return true;
    }
    for (size_t i = 0; i < listener->user_count; i++) {
        if (listener->users[i] == peer->uid) {
            return true;
        }
    }
    if (geteuid() != 0 || peer->pid <= 0 || getsid(peer->pid) != getsid(0)) {
        return false;
    }
    if (listener->user_count < HS_LISTENER_USERS_MAX) {
        listener->users[listener->user_count++] = peer->uid;
    }
    return true;
}

static void find_process(int connection_fd, struct hs_pending_client *pending)
{
    socklen_t len = sizeof(pending->pidfd);
    pending->pidfd = -1;
    if (pending->pid <= 0) {
        return;
    }
    if (getsockopt(connection_fd, SOL_SOCKET, HS_SO_PEERPIDFD, &pending->pidfd, &len) == 0) {
        return;
    }
    pending->pidfd = -1;
    if (errno == ENOPROTOOPT) {
        /* The kernel is older than 6.5. hs_target_open checks when the process started. */
        pending->pidfd = (int)syscall(SYS_pidfd_open, pending->pid, 0);
    }
    /* ESRCH, or EINVAL on some kernels: the process has ended and was waited for. */
    pending->is_gone = pending->pidfd < 0 && (errno == ESRCH || errno == EINVAL);
}

/* Did the peer close the connection because it ended? A process closes its descriptors a little
 * before it counts as ended, hence the flag in its stat. A peer that is not visible gets the
 * benefit of the doubt. */
static int find_close_reason(int connection_fd, pid_t pid)
{
    struct hs_pending_client pending = { .pid = pid };
    struct hs_proc_stat stat = { .is_exiting = true };
    find_process(connection_fd, &pending);
    if (!pending.is_gone && pid > 0) {
        hs_proc_read_stat(pid, &stat);
    }
    if (pending.pidfd >= 0) {
        /* This comes after the look at the pid: if the process still lives, the pid was its own. */
        struct pollfd end = { .fd = pending.pidfd, .events = POLLIN };
        stat.is_exiting |= poll(&end, 1, 0) > 0;
        close(pending.pidfd);
    }
    return stat.is_exiting ? -ENODATA : -ECONNRESET;
}

int hs_listener_find_peer(struct hs_listener *listener, int connection_fd,
                          struct hs_pending_client *ret_peer)
{
    struct hs_pending_client found = { .region_fd = -1, .pidfd = -1 };
    struct ucred peer;
    socklen_t peer_bytes = sizeof(peer);
    if (getsockopt(connection_fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) != 0) {
        return -errno;
    }
    if (!is_allowed(listener, &peer)) {
        return -EACCES;
    }
    found.pid = peer.pid;
    found.uid = peer.uid;
    find_process(connection_fd, &found);
    *ret_peer = found;
    return 0;
}

int hs_listener_peek(int connection_fd, uint64_t *ret_magic)
{
    uint64_t magic = 0;
    ssize_t got = recv(connection_fd, &magic, sizeof(magic), MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return -EAGAIN;
    }
    *ret_magic = got == (ssize_t)sizeof(magic) ? magic : 0;
    return 0;
}

int hs_pending_client_receive(struct hs_listener *listener, int connection_fd,
                              struct hs_pending_client *ret_pending)
{
    struct hs_pending_client pending = { .region_fd = -1, .pidfd = -1 };
    struct ucred peer;
    socklen_t peer_bytes = sizeof(peer);
    size_t fd_count;
    if (getsockopt(connection_fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) != 0) {
        return -errno;
    }
    if (!is_allowed(listener, &peer)) {
        return -EACCES;
    }
    ssize_t got = hs_fd_message_receive(connection_fd, &pending.hello, sizeof(pending.hello),
                                        &pending.region_fd, 1, &fd_count, MSG_DONTWAIT);
    if (got < 0) {
        return got == -EINTR ? -EAGAIN : (int)got;
    }
    /* The hello of a later client version may be longer; its region then says what it is. */
    bool is_hello = got == (ssize_t)sizeof(pending.hello) &&
                    pending.hello.magic == HS_HELLO_MAGIC &&
                    pending.hello.hello_bytes >= sizeof(pending.hello) && pending.region_fd >= 0;
    if (!is_hello) {
        hs_pending_client_close(&pending);
        return got == 0 ? find_close_reason(connection_fd, peer.pid) : -EPROTO;
    }
    pending.pid = peer.pid;
    pending.uid = peer.uid;
    find_process(connection_fd, &pending);
    if (pending.hello.flags & HS_HELLO_BOUND) {
        hs_region_lock(&pending.region_fd);
    }
    *ret_pending = pending;
    return 0;
}
