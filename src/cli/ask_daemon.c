/*
 * One request, one answer: see ask_daemon.h.
 */
#include "cli/ask_daemon.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "ctl/ctl.pb-c.h"
#include "ctl/ctl_socket.h"

#define HS_PATIENCE_MS 30000
#define HS_RETRIES     50
#define HS_RETRY_MS    20

static bool is_trusted(int sock)
{
    pid_t pid;
    uid_t uid;
    gid_t gid;
    return hs_ctl_socket_peer(sock, &pid, &uid, &gid) == 0 &&
           (uid == 0 || uid == geteuid() || geteuid() == 0);
}

/* A daemon that was killed leaves its socket open, for the next one: what is asked waits there until that comes. */
static bool is_alive(int sock)
{
    pid_t pid;
    uid_t uid;
    gid_t gid;
    return hs_ctl_socket_peer(sock, &pid, &uid, &gid) == 0 &&
           (pid <= 0 || kill(pid, 0) == 0 || errno == EPERM);
}

static int connect_patiently(const char *path)
{
    int fd = -EAGAIN;
    for (int i = 0; i < HS_RETRIES && fd == -EAGAIN; i++) {
        if (i > 0) {
            poll(NULL, 0, HS_RETRY_MS); /* its queue is full */
        }
        fd = hs_ctl_socket_connect(path);
    }
    return fd;
}

/* Why nobody answers at this path. */
static void say_nobody(const char *path, int error)
{
    if (error == -ENOENT || error == -ECONNREFUSED) {
        hs_message("no daemon is running at %s\n"
                   "Start one with 'heapscoped &' or 'systemctl --user start heapscope.socket'.",
                   path);
    } else if (error == -EHOSTDOWN) {
        hs_message("the daemon at %s was killed; what it records is kept\n"
                   "Start it again, and it goes on: 'heapscoped &' or 'systemctl --user start "
                   "heapscope.service'.",
                   path);
    } else if (error == -EACCES) {
        hs_message("%s: the daemon there serves another user\n"
                   "Start one of your own with 'heapscoped &'.",
                   path);
    } else {
        hs_message("%s: %s", path, strerror(-error));
    }
}

static int find_daemon(int *ret_sock)
{
    char paths[2][HS_CTL_PATH_MAX + 1];
    int first_error = 0;
    int count = hs_ctl_socket_paths(paths);
    if (count < 0) {
        hs_message(HS_ENV_SOCKET " is not the absolute path of a socket, or is too long");
        return HS_EXIT_STATUS_FAILED;
    }
    for (int i = 0; i < count; i++) {
        int fd = connect_patiently(paths[i]);
        if (fd >= 0 && !is_alive(fd)) {
            close(fd);
            fd = -EHOSTDOWN;
        }
        if (fd >= 0 && is_trusted(fd)) {
            *ret_sock = fd;
            return HS_EXIT_STATUS_DONE;
        }
        if (fd >= 0) {
            close(fd);
            fd = -EACCES;
        }
        first_error = i == 0 ? fd : first_error;
    }
    say_nobody(paths[0], first_error);
    return HS_EXIT_STATUS_FAILED;
}

static int say_error(const struct hs_ctl_message *answer)
{
    ProtobufCMessage *body = hs_ctl_unpack(answer, &hs__ctl__error__descriptor);
    const Hs__Ctl__Error *error = (const Hs__Ctl__Error *)(const void *)body;
    hs_message("%s",
               error && error->text ? error->text : "the daemon refused, and does not say why");
    if (body) {
        protobuf_c_message_free_unpacked(body, NULL);
    }
    return HS_EXIT_STATUS_FAILED;
}

static int wait_for_answer(int sock, enum hs_ask_patience patience,
                           struct hs_ctl_message *ret_answer)
{
    struct pollfd fd = { .fd = sock, .events = POLLIN };
    int r = 0;
    do {
        int ready = poll(&fd, 1, patience == HS_ASK_SOON ? HS_PATIENCE_MS : -1);
        if (ready == 0) {
            return -ETIMEDOUT;
        }
        r = ready < 0 ? -EAGAIN : hs_ctl_receive(sock, false, ret_answer);
    } while (r == -EAGAIN);
    return r;
}

int hs_ask_daemon(enum hs_ctl_kind kind, const ProtobufCMessage *request, const int *fds,
                  size_t fd_count, enum hs_ask_patience patience, struct hs_ctl_message *ret_answer)
{
    struct hs_ctl_message answer = { 0 };
    int sock;
    int status = find_daemon(&sock);
    if (status != HS_EXIT_STATUS_DONE) {
        return status;
    }
    int r = hs_ctl_send(sock, kind, request, fds, fd_count);
    if (r == 0) {
        r = wait_for_answer(sock, patience, &answer);
    }
    close(sock);
    if (r == -ETIMEDOUT) {
        hs_message("the daemon does not answer; its log may say why");
        return HS_EXIT_STATUS_FAILED;
    }
    if (r < 0) {
        hs_message("the daemon %s: %s",
                   r == -ECONNRESET ? "hung up" : "does not answer as it should", strerror(-r));
        return HS_EXIT_STATUS_FAILED;
    }
    if (answer.kind == kind + 1) {
        *ret_answer = answer;
        return HS_EXIT_STATUS_DONE;
    }
    status = say_error(&answer);
    hs_ctl_message_deinit(&answer);
    return status;
}
