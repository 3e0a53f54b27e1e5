/*
 * Answers requests about one session: see session_server.h.
 */
#include "session/session_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ctl_message.h"
#include "ctl/ctl_socket.h"
#include "rt/clock.h"

static const char *session_of(const void *ctx, const struct hs_target *target)
{
    const struct hs_session_server *server = ctx;
    return server->has(server->ctx, target) ? server->name : NULL;
}

static bool may_see(const void *ctx, const struct hs_target *target)
{
    (void)ctx;
    (void)target;
    return true;
}

/* Does the peer belong to our user or to root? */
static bool is_allowed(int sock)
{
    pid_t pid;
    uid_t uid;
    gid_t gid;
    return hs_ctl_socket_peer(sock, &pid, &uid, &gid) == 0 && (uid == geteuid() || uid == 0);
}

/* The absolute path of the file; NULL: unknown. */
static char *make_path(const char *path)
{
    char *cwd = path && path[0] != '/' && strcmp(path, "-") != 0 ? get_current_dir_name() : NULL;
    char *full = NULL;
    if (path && asprintf(&full, "%s%s%s", cwd ? cwd : "", cwd ? "/" : "", path) < 0) {
        full = NULL;
    }
    free(cwd);
    return full;
}

void hs_session_server_open(struct hs_session_server *server)
{
    server->start_real_ns = hs_clock_ns(CLOCK_REALTIME);
    snprintf(server->name, sizeof(server->name), "%s.%d", server->command, (int)getpid());
    server->full_path = make_path(server->path);
}

/* --- requests --------------------------------------------------------------------------------- */

static int answer_list(const struct hs_session_server *server, const struct hs_recorded *recorded,
                       int sock)
{
    struct hs_session_server_figures figures = { 0 };
    struct hs_listing *listing = hs_listing_new(recorded, 1);
    if (!listing) {
        return hs_ctl_refuse(sock, "out of memory");
    }
    listing->listed.command = (char *)(uintptr_t)server->command;
    listing->listed.has_start_real_ns = true;
    listing->listed.start_real_ns = server->start_real_ns;
    Hs__Ctl__Session *session = hs_listing_add_session(listing, server->name, server->settings);
    server->look(server->ctx, &figures);
    session->has_uid = session->has_start_real_ns = true;
    session->uid = geteuid();
    session->start_real_ns = server->start_real_ns;
    session->path = server->full_path;
    session->state = (char *)(uintptr_t)(server->is_stop_asked ? "finishing" : "running");
    session->process_count = figures.ended_process_count;
    session->sample_count = figures.ended_sample_count;
    session->dump_count = figures.dump_count;
    session->file_bytes = figures.file_bytes;
    hs_listing_add_up(listing, session);
    int r = hs_ctl_send(sock, HS_CTL_LISTED, &listing->listed.base, NULL, 0);
    hs_listing_free(listing);
    return r;
}

/* True: the connection is kept. */
static bool take_stop(struct hs_session_server *server, const Hs__Ctl__Stop *request, int sock)
{
    if (!request->session || strcmp(request->session, server->name) != 0) {
        hs_ctl_refuse(sock, "there is no session '%.100s' here",
                      request->session ? request->session : "");
        return false;
    }
    if (!server->can_stop) {
        hs_ctl_refuse(sock, "%s ends with its program", server->name);
        return false;
    }
    if (server->waiting_count == HS_SESSION_SERVER_WAITING_MAX) {
        hs_ctl_refuse(sock, "too many commands wait for the end of %s", server->name);
        return false;
    }
    server->waiting[server->waiting_count++] = sock;
    server->is_stop_asked = true;
    return true;
}

/* True: the connection is kept. */
static bool answer(struct hs_session_server *server, const struct hs_ctl_message *message, int sock,
                   uint64_t now_ns)
{
    const struct hs_recorded recorded = {
        .registry = server->registry, .session_of = session_of, .may_see = may_see, .ctx = server
    };
    const ProtobufCMessageDescriptor *descriptor =
        message->kind == HS_CTL_STOP       ? &hs__ctl__stop__descriptor
        : message->kind == HS_CTL_LIST     ? &hs__ctl__list__descriptor
        : message->kind == HS_CTL_SNAPSHOT ? &hs__ctl__snapshot__descriptor
                                           : NULL;
    ProtobufCMessage *body = descriptor ? hs_ctl_unpack(message, descriptor) : NULL;
    bool is_kept = false;
    if (!body) {
        hs_ctl_refuse(sock, "%s makes its own recording, and cannot begin other sessions",
                      server->name);
        return false;
    }
    if (message->kind == HS_CTL_STOP) {
        is_kept = take_stop(server, (const Hs__Ctl__Stop *)(const void *)body, sock);
    } else if (message->kind == HS_CTL_LIST) {
        answer_list(server, &recorded, sock);
    } else {
        hs_answer_snapshot(&recorded, sock, (const Hs__Ctl__Snapshot *)(const void *)body, now_ns);
    }
    protobuf_c_message_free_unpacked(body, NULL);
    return is_kept;
}

void hs_session_server_serve(struct hs_session_server *server, int connection_fd, uint64_t now_ns)
{
    struct hs_ctl_message message;
    bool is_kept = false;
    int r = hs_ctl_receive(connection_fd, false, &message);
    if (r == 0) {
        /* The request is read even if it is refused: closing a socket with unread data is an error
         * for the peer, which would see that error before the answer. */
        if (is_allowed(connection_fd)) {
            is_kept = answer(server, &message, connection_fd, now_ns);
        } else {
            hs_ctl_refuse(connection_fd, "%s records for another user", server->name);
        }
        hs_ctl_message_deinit(&message);
    } else if (r == -EPROTONOSUPPORT) {
        hs_ctl_refuse(connection_fd,
                      "%s belongs to heapscope " HS_VERSION
                      ", which does not know this version of its messages",
                      server->name);
    }
    if (!is_kept) {
        close(connection_fd);
    }
}

void hs_session_server_close(struct hs_session_server *server,
                             const struct hs_session_server_outcome *outcome)
{
    Hs__Ctl__Stopped stopped = HS__CTL__STOPPED__INIT;
    stopped.session = server->name;
    stopped.path = server->full_path;
    stopped.has_file_bytes = stopped.has_process_count = stopped.has_dump_count =
        stopped.has_rejected_count = true;
    stopped.file_bytes = outcome->file_bytes;
    stopped.process_count = outcome->process_count;
    stopped.dump_count = outcome->dump_count;
    stopped.error = (char *)(uintptr_t)outcome->error;
    while (server->waiting_count > 0) {
        int sock = server->waiting[--server->waiting_count];
        hs_ctl_send(sock, HS_CTL_STOPPED, &stopped.base, NULL, 0);
        close(sock);
    }
    free(server->full_path);
    server->full_path = NULL;
}
