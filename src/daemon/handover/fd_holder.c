/*
 * The process that holds the daemon's descriptors and outlives it: see fd_holder.h.
 */
#include "daemon/handover/fd_holder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ctl_socket.h"
#include "daemon/worker_process.h"
#include "rt/base.h"
#include "rt/clock.h"
#include "util/fd_limit.h"
#include "util/fd_message.h"

#define HS_PATH_BYTES (HS_CTL_PATH_MAX + sizeof(HS_FD_HOLDER_SUFFIX))
#define HS_GIVING_S   5
#define HS_END        "END=1"

struct fd_holder {
    int daemon_sock; /* -1: the daemon is dead */
    int listen_sock;
    char path[HS_PATH_BYTES];
    struct hs_fdstore_items items;
    uint64_t keep_ns;
    uint64_t end_ns; /* CLOCK_MONOTONIC: until when it waits for the next daemon */
};

static int name_path(const char *path, char *ret_path)
{
    int bytes = snprintf(ret_path, HS_PATH_BYTES, "%s" HS_FD_HOLDER_SUFFIX, path);
    return bytes > (int)HS_CTL_PATH_MAX ? -ENAMETOOLONG : 0;
}

/* Does the peer belong to our user? Works on both sides: the kernel knows the user who listens, and
 * the one who connected. */
static bool is_of_our_user(int sock)
{
    pid_t pid;
    uid_t uid;
    gid_t gid;
    return hs_ctl_socket_peer(sock, &pid, &uid, &gid) == 0 && uid == geteuid();
}

static void set_timeouts(int sock)
{
    const struct timeval timeout = { .tv_sec = HS_GIVING_S };
    setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
}

/* --- the next daemon -------------------------------------------------------------------------- */

static int receive_items(int sock, struct hs_fdstore_items *items)
{
    char text[HS_FDSTORE_TEXT_MAX + 1], name[HS_FDSTORE_NAME_MAX + 1];
    int fds[HS_FDSTORE_FDS_MAX];
    size_t fd_count;
    for (;;) {
        ssize_t got = hs_fd_message_receive(sock, text, HS_FDSTORE_TEXT_MAX, fds,
                                            HS_FDSTORE_FDS_MAX, &fd_count, 0);
        if (got <= 0) {
            return got == 0 || got == -ECONNRESET ? -EADDRINUSE : (int)got;
        }
        text[got] = '\0';
        if (strcmp(text, HS_END) == 0) {
            return 0;
        }
        if (hs_fdstore_parse(text, name) == HS_FDSTORE_PUT) {
            hs_fdstore_items_add(items, name, fds, fd_count);
        }
    }
}

int hs_fd_holder_meet(const char *path, struct hs_fdstore *ret_store,
                      struct hs_fdstore_items *items)
{
    char fd_holder_path[HS_PATH_BYTES];
    int sock = name_path(path, fd_holder_path);
    sock = sock < 0 ? sock : hs_ctl_socket_connect(fd_holder_path);
    if (sock < 0) {
        return -ENOENT;
    }
    if (!is_of_our_user(sock)) {
        close(sock);
        return -ENOENT;
    }
    fcntl(sock, F_SETFL, 0);
    set_timeouts(sock);
    int r = receive_items(sock, items);
    if (r < 0) {
        hs_fdstore_items_deinit(items);
        close(sock);
        return r;
    }
    *ret_store = hs_fdstore_open(sock, true);
    return 0;
}

/* --- the fd holder ---------------------------------------------------------------------------- */

static int give_items(const struct fd_holder *fd_holder, int sock)
{
    char text[HS_FDSTORE_TEXT_MAX];
    int r = 0;
    for (size_t i = 0; r == 0 && i < fd_holder->items.count; i++) {
        const struct hs_fdstore_item *item = &fd_holder->items.items[i];
        snprintf(text, sizeof(text), "FDSTORE=1\nFDNAME=%s", item->name);
        r = hs_fd_message_send(sock, text, strlen(text), item->fds, item->fd_count, 0);
    }
    return r < 0 ? r : hs_fd_message_send(sock, HS_END, strlen(HS_END), NULL, 0, 0);
}

static void __attribute__((noreturn)) leave(struct fd_holder *fd_holder)
{
    unlink(fd_holder->path);
    hs_fdstore_items_deinit(&fd_holder->items);
    _exit(0);
}

static void lose_daemon(struct fd_holder *fd_holder)
{
    close(fd_holder->daemon_sock);
    fd_holder->daemon_sock = -1;
    fd_holder->end_ns = hs_clock_ns(CLOCK_MONOTONIC) + fd_holder->keep_ns;
}

/* Handles one message of the daemon, or its death. Returns false if there is no further message. */
static bool receive_from_daemon(struct fd_holder *fd_holder)
{
    char text[HS_FDSTORE_TEXT_MAX + 1], name[HS_FDSTORE_NAME_MAX + 1];
    int fds[HS_FDSTORE_FDS_MAX];
    size_t fd_count;
    ssize_t got = hs_fd_message_receive(fd_holder->daemon_sock, text, HS_FDSTORE_TEXT_MAX, fds,
                                        HS_FDSTORE_FDS_MAX, &fd_count, MSG_DONTWAIT);
    if (got == -EAGAIN || got == -EINTR) {
        return false;
    }
    if (got <= 0) {
        lose_daemon(fd_holder);
        return false;
    }
    text[got] = '\0';
    switch (hs_fdstore_parse(text, name)) {
    case HS_FDSTORE_PUT:
        hs_fdstore_items_add(&fd_holder->items, name, fds, fd_count);
        break;
    case HS_FDSTORE_REMOVE:
        hs_fdstore_items_remove(&fd_holder->items, name);
        break;
    case HS_FDSTORE_BYE:
        leave(fd_holder);
    case HS_FDSTORE_UNKNOWN:
    default:
        for (size_t i = 0; i < fd_count; i++) {
            close(fds[i]);
        }
    }
    return true;
}

/* Accepts the next daemon, and gives it all descriptors; rejects it while ours is alive. */
static void accept_daemon(struct fd_holder *fd_holder)
{
    int sock = accept4(fd_holder->listen_sock, NULL, NULL, SOCK_CLOEXEC);
    if (sock < 0) {
        return;
    }
    /* Our daemon may have died since the last poll(). */
    while (fd_holder->daemon_sock >= 0 && receive_from_daemon(fd_holder)) {
    }
    set_timeouts(sock);
    if (fd_holder->daemon_sock >= 0 || !is_of_our_user(sock) || give_items(fd_holder, sock) < 0) {
        close(sock);
        return;
    }
    fd_holder->daemon_sock = sock;
}

/* Holds the descriptors; returns when keep_ns have passed without a daemon. */
static void hold(struct fd_holder *fd_holder)
{
    for (;;) {
        struct pollfd polled[2] = { { .fd = fd_holder->listen_sock, .events = POLLIN },
                                    { .fd = fd_holder->daemon_sock, .events = POLLIN } };
        uint64_t now = hs_clock_ns(CLOCK_MONOTONIC);
        bool is_alone = fd_holder->daemon_sock < 0;
        if (is_alone && now >= fd_holder->end_ns) {
            return;
        }
        uint64_t wait_ms = is_alone ? (fd_holder->end_ns - now) / 1000000 + 1 : UINT64_MAX;
        poll(polled, 2, wait_ms > INT32_MAX ? (is_alone ? INT32_MAX : -1) : (int)wait_ms);
        if (polled[1].revents) {
            receive_from_daemon(fd_holder);
        }
        if (polled[0].revents) {
            accept_daemon(fd_holder);
        }
    }
}

/* Separates the fd holder from the daemon: from its descriptors, its terminal, its log, its signals
 * and its limits. What happens to the daemon then does not concern the fd holder. */
static void settle(struct fd_holder *fd_holder)
{
    sigset_t all;
    const int kept[] = { fd_holder->daemon_sock, fd_holder->listen_sock };
    hs_worker_process_close_others(kept, HS_COUNT_OF(kept));
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; nowhere >= 0 && fd <= STDERR_FILENO; fd++) {
        dup2(nowhere, fd);
    }
    if (nowhere > STDERR_FILENO) {
        close(nowhere);
    }
    setsid();
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    prctl(PR_SET_NAME, "heapscope-keep");
    hs_fd_limit_raise();
    if (chdir("/") != 0) {
        return; /* harmless: the file system of the current folder stays in use */
    }
}

static int listen_for_daemons(const char *path)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    memcpy(addr.sun_path, path, strlen(path) + 1);
    int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (sock < 0) {
        return -errno;
    }
    unlink(path); /* an fd holder that was killed may have left it */
    mode_t was = umask(0177);
    int r = bind(sock, (struct sockaddr *)&addr, sizeof(addr)) == 0 && listen(sock, 1) == 0
                ? 0
                : -errno;
    umask(was);
    if (r < 0) {
        close(sock);
        return r;
    }
    return sock;
}

int hs_fd_holder_start(const char *path, uint64_t keep_ns, struct hs_fdstore *ret_store,
                       struct hs_fdstore_items *items)
{
    struct fd_holder fd_holder = { .keep_ns = keep_ns };
    int socks[2];
    int r = name_path(path, fd_holder.path);
    fd_holder.listen_sock = r < 0 ? r : listen_for_daemons(fd_holder.path);
    if (fd_holder.listen_sock < 0) {
        return fd_holder.listen_sock;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) != 0) {
        r = -errno;
        close(fd_holder.listen_sock);
        return r;
    }
    pid_t pid = fork();
    if (pid == 0 && fork() != 0) {
        _exit(0); /* a double fork: the fd holder is no child that the daemon has to wait for */
    }
    if (pid == 0) {
        fd_holder.daemon_sock = socks[1];
        settle(&fd_holder);
        hold(&fd_holder);
        *items = fd_holder.items;
        unlink(fd_holder.path);
        close(fd_holder.listen_sock);
        return 1;
    }
    r = pid < 0 ? -errno : 0;
    close(fd_holder.listen_sock);
    close(socks[1]);
    if (r < 0) {
        close(socks[0]);
        return r;
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    *ret_store = hs_fdstore_open(socks[0], true);
    return 0;
}
