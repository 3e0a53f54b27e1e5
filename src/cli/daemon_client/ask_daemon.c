/*
 * One request, one answer: see ask_daemon.h.
 */
#include "cli/daemon_client/ask_daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/daemon_client/endpoints.h"
#include "cli/message.h"
#include "ctl/ctl.pb-c.h"

int hs_ask_say_nobody(const char *path, int error)
{
    if (error == -ENOENT || error == -ECONNREFUSED) {
        hs_message("no daemon is running at %s\n"
                   "Start one with 'heapscoped &' or 'systemctl --user start heapscope.socket'.",
                   path);
    } else if (error == -EHOSTDOWN) {
        hs_message("the daemon at %s was killed; its recordings are kept\n"
                   "Start it again to continue them: 'heapscoped &' or 'systemctl --user start "
                   "heapscope.service'.",
                   path);
    } else if (error == -EACCES) {
        hs_message("the daemon at %s serves another user\n"
                   "Start your own with 'heapscoped &'.",
                   path);
    } else {
        hs_message("%s: %s", path, strerror(-error));
    }
    return HS_EXIT_STATUS_FAILED;
}

int hs_ask_say_bad_socket(void)
{
    hs_message(HS_ENV_SOCKET " is not the absolute path of a socket, or is too long");
    return HS_EXIT_STATUS_FAILED;
}

int hs_ask_find_daemon(char *ret_path)
{
    struct hs_endpoints endpoints;
    int first_error = 0;
    if (hs_endpoints_find(false, &endpoints) < 0) {
        return -EINVAL;
    }
    snprintf(ret_path, HS_CTL_PATH_MAX + 1, "%s", endpoints.items[0].name);
    for (size_t i = 0; i < endpoints.count; i++) {
        int fd = hs_endpoint_connect(&endpoints.items[i]);
        if (fd >= 0) {
            return fd;
        }
        first_error = i == 0 ? fd : first_error;
    }
    return first_error;
}

int hs_ask_is_daemon_there(char *ret_path)
{
    Hs__Ctl__List request = HS__CTL__LIST__INIT;
    int sock = hs_ask_find_daemon(ret_path);
    if (sock < 0) {
        return sock;
    }
    /* The daemon takes a connection without a request for a process that wants to be recorded. */
    hs_ctl_send(sock, HS_CTL_LIST, &request.base, NULL, 0);
    close(sock);
    return 0;
}

static int find_daemon(int *ret_sock)
{
    char path[HS_CTL_PATH_MAX + 1] = "";
    *ret_sock = hs_ask_find_daemon(path);
    if (*ret_sock >= 0) {
        return HS_EXIT_STATUS_DONE;
    }
    return path[0] ? hs_ask_say_nobody(path, *ret_sock) : hs_ask_say_bad_socket();
}

static int say_error(const struct hs_ctl_message *answer)
{
    ProtobufCMessage *body = hs_ctl_unpack(answer, &hs__ctl__error__descriptor);
    const Hs__Ctl__Error *error = (const Hs__Ctl__Error *)(const void *)body;
    hs_message("%s",
               error && error->text ? error->text : "the request was refused without a reason");
    if (body) {
        protobuf_c_message_free_unpacked(body, NULL);
    }
    return HS_EXIT_STATUS_FAILED;
}

int hs_ask_take(int r, enum hs_ctl_kind kind, struct hs_ctl_message *answer, const char *peer_name,
                struct hs_ctl_message *ret_answer)
{
    if (r == -ETIMEDOUT) {
        hs_message("%s does not answer; its log may say why", peer_name);
        return HS_EXIT_STATUS_FAILED;
    }
    if (r == -EHOSTDOWN) {
        hs_message("%s was killed before it answered; its recordings are kept\n"
                   "Start it again; 'heapscope list' then shows them.",
                   peer_name);
        return HS_EXIT_STATUS_FAILED;
    }
    if (r < 0) {
        hs_message("%s %s: %s", peer_name,
                   r == -ECONNRESET ? "closed the connection" : "sent no valid answer",
                   strerror(-r));
        return HS_EXIT_STATUS_FAILED;
    }
    if (answer->kind == kind + 1) {
        *ret_answer = *answer;
        return HS_EXIT_STATUS_DONE;
    }
    int status = say_error(answer);
    hs_ctl_message_deinit(answer);
    return status;
}

int hs_ask_open(struct hs_ctl_message *answer, const ProtobufCMessageDescriptor *kind,
                int (*say)(void *ctx, const ProtobufCMessage *body), void *ctx)
{
    ProtobufCMessage *body = hs_ctl_unpack(answer, kind);
    int status = HS_EXIT_STATUS_FAILED;
    if (body) {
        status = say(ctx, body);
        protobuf_c_message_free_unpacked(body, NULL);
    } else {
        hs_message("cannot read the daemon's answer; is the daemon of another version?");
    }
    hs_ctl_message_deinit(answer);
    return status;
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
    int r = hs_endpoint_talk(sock, kind, request, fds, fd_count,
                             patience == HS_ASK_SOON ? HS_PATIENCE_LONG_MS : HS_PATIENCE_FOREVER_MS,
                             &answer);
    return hs_ask_take(r, kind, &answer, "the daemon", ret_answer);
}
