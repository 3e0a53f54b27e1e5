/*
 * Daemons and collectors: see endpoints.h.
 */
#include "cli/daemon_client/endpoints.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ctl.pb-c.h"
#include "ctl/ctl_socket.h"
#include "rt/base.h"
#include "rt/clock.h"
#include "util/proc.h"

#define HS_RETRIES  50
#define HS_RETRY_MS 20

bool hs_endpoints_is_one_named(void)
{
    return getenv(HS_ENV_SOCKET) != NULL;
}

int hs_endpoints_find(bool is_with_collectors, struct hs_endpoints *ret_endpoints)
{
    char paths[2][HS_CTL_PATH_MAX + 1];
    static char names[HS_CTL_COLLECTORS_MAX][HS_CTL_NAME_MAX + 1];
    int path_count = hs_ctl_socket_paths(paths);
    ret_endpoints->count = 0;
    if (path_count < 0) {
        return path_count;
    }
    for (int i = 0; i < path_count; i++) {
        struct hs_endpoint *place = &ret_endpoints->items[ret_endpoints->count++];
        *place = (struct hs_endpoint){ .is_daemon = true };
        memcpy(place->name, paths[i], sizeof(paths[i]));
    }
    int name_count = is_with_collectors ? hs_ctl_collectors_find(names) : 0;
    for (int i = 0; i < name_count; i++) {
        struct hs_endpoint *place = &ret_endpoints->items[ret_endpoints->count++];
        *place = (struct hs_endpoint){ .is_daemon = false };
        memcpy(place->name, names[i], sizeof(names[i]));
    }
    return 0;
}

/* Commands of all PID namespaces are found: the kernel's list of sockets is that of the network. A
 * command whose process has no number here calls its processes by numbers that mean others here. */
static bool is_in_sight(const struct hs_endpoint *place)
{
    return place->is_daemon || place->pid > 0;
}

static bool is_trusted(int sock, pid_t *ret_pid)
{
    uid_t uid;
    gid_t gid;
    return hs_ctl_socket_peer(sock, ret_pid, &uid, &gid) == 0 &&
           (uid == 0 || uid == geteuid() || geteuid() == 0);
}

/* A daemon that was killed leaves its socket open for the next daemon: a request waits there
 * until that one starts. The killed daemon is a zombie until its parent, such as a shell,
 * waits for it. */
static bool is_alive(pid_t pid)
{
    struct hs_proc_stat stat;
    if (pid > 0 && hs_proc_read_stat(pid, &stat) == 0 && stat.state == 'Z') {
        return false;
    }
    return pid <= 0 || kill(pid, 0) == 0 || errno == EPERM;
}

int hs_endpoint_connect(struct hs_endpoint *place)
{
    int fd = -EAGAIN;
    for (int i = 0; i < HS_RETRIES && fd == -EAGAIN; i++) {
        if (i > 0) {
            poll(NULL, 0, HS_RETRY_MS); /* its queue is full */
        }
        fd = place->is_daemon ? hs_ctl_socket_connect(place->name)
                              : hs_ctl_collector_connect(place->name);
    }
    if (fd >= 0 && (!is_trusted(fd, &place->pid) || !is_in_sight(place))) {
        /* The other side takes a connection without a request for a process that wants to be
         * recorded. */
        Hs__Ctl__List request = HS__CTL__LIST__INIT;
        hs_ctl_send(fd, HS_CTL_LIST, &request.base, NULL, 0);
        close(fd);
        fd = -EACCES;
    }
    if (fd >= 0 && place->is_daemon && !is_alive(place->pid)) {
        close(fd);
        fd = -EHOSTDOWN;
    }
    return fd;
}

static int64_t now_ms(void)
{
    return (int64_t)(hs_clock_ns(CLOCK_MONOTONIC) / 1000000);
}

/* A pidfd of the process that listens at the other end. -1: it has ended, or is not visible from
 * here. */
static int open_listener(int sock)
{
    pid_t pid = 0;
    uid_t uid;
    gid_t gid;
    return hs_ctl_socket_peer(sock, &pid, &uid, &gid) == 0 && pid > 0
               ? (int)syscall(SYS_pidfd_open, pid, 0)
               : -1;
}

/* The socket of a killed daemon is kept for the next daemon, with the requests that it had not
 * accepted: without watching the process, this command would wait there, too. */
static int wait_for_answer(int sock, int listener_fd, int patience_ms,
                           struct hs_ctl_message *ret_answer)
{
    struct pollfd fds[] = { { .fd = sock, .events = POLLIN },
                            { .fd = listener_fd, .events = POLLIN } };
    int64_t until_ms = now_ms() + patience_ms;
    int r = 0;
    do {
        int64_t left_ms = patience_ms < 0 ? -1 : until_ms - now_ms();
        if (patience_ms >= 0 && left_ms <= 0) {
            return -ETIMEDOUT;
        }
        int ready = poll(fds, HS_COUNT_OF(fds), (int)left_ms);
        r = ready <= 0 ? -EAGAIN : hs_ctl_receive(sock, false, ret_answer);
        if (r == -EAGAIN && ready > 0 && fds[1].revents != 0) {
            return -EHOSTDOWN;
        }
    } while (r == -EAGAIN);
    return r;
}

int hs_endpoint_talk(int sock, enum hs_ctl_kind kind, const ProtobufCMessage *request,
                     const int *fds, size_t fd_count, int patience_ms,
                     struct hs_ctl_message *ret_answer)
{
    int r = hs_ctl_send(sock, kind, request, fds, fd_count);
    if (r == 0) {
        int listener_fd = open_listener(sock);
        r = wait_for_answer(sock, listener_fd, patience_ms, ret_answer);
        if (listener_fd >= 0) {
            close(listener_fd);
        }
    }
    close(sock);
    return r;
}

int hs_endpoint_ask(struct hs_endpoint *place, enum hs_ctl_kind kind,
                    const ProtobufCMessage *request, int patience_ms,
                    struct hs_ctl_message *ret_answer)
{
    int sock = hs_endpoint_connect(place);
    return sock < 0 ? sock
                    : hs_endpoint_talk(sock, kind, request, NULL, 0, patience_ms, ret_answer);
}
