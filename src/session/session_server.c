/*
 * Answers requests about one session: see session_server.h.
 */
#include "session/session_server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ctl_message.h"
#include "ctl/ctl_socket.h"
#include "rt/clock.h"
#include "session/answer_watch.h"
#include "symbol/target_files.h"

/* Those that a terminal sends to a whole process group, and those that ask a command to end. */
static const int group_signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP };

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

#define RECORDED_OF(server)                                                                        \
    {                                                                                              \
        .registry = (server)->registry, .session_of = session_of, .may_see = may_see,              \
        .ctx = (server)                                                                            \
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
    hs_answer_watches_list(&server->watches, listing);
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

/* In a watch worker, which has the rights of our own user already, or of root if we are root. It
 * ends by itself when we end: it ignores signals to our process group. */
static int settle_worker(const void *ctx, const int *fds, size_t count)
{
    sigset_t none;
    (void)ctx;
    hs_target_files_close_others(NULL, STDERR_FILENO + 1, fds, count);
    for (size_t i = 0; i < HS_COUNT_OF(group_signals); i++) {
        signal(group_signals[i], SIG_IGN);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    return 0;
}

static int answer_watch(struct hs_session_server *server, const struct hs_recorded *recorded,
                        int sock, const Hs__Ctl__Watch *request)
{
    struct hs_watch_asker asker = { .settle = settle_worker };
    gid_t gid;
    int r = hs_ctl_socket_peer(sock, &asker.pid, &asker.uid, &gid);
    return r < 0 ? r : hs_answer_watch(recorded, &server->watches, &asker, sock, request);
}

/* True: the connection is kept. */
static bool answer(struct hs_session_server *server, const struct hs_ctl_message *message, int sock,
                   uint64_t now_ns)
{
    const struct hs_recorded recorded = RECORDED_OF(server);
    const ProtobufCMessageDescriptor *descriptor =
        message->kind == HS_CTL_STOP       ? &hs__ctl__stop__descriptor
        : message->kind == HS_CTL_LIST     ? &hs__ctl__list__descriptor
        : message->kind == HS_CTL_SNAPSHOT ? &hs__ctl__snapshot__descriptor
        : message->kind == HS_CTL_WATCH    ? &hs__ctl__watch__descriptor
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
    } else if (message->kind == HS_CTL_WATCH) {
        answer_watch(server, &recorded, sock, (const Hs__Ctl__Watch *)(const void *)body);
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

uint64_t hs_session_server_turn(struct hs_session_server *server, uint64_t now_ns)
{
    const struct hs_recorded recorded = RECORDED_OF(server);
    return hs_answer_watches_turn(&recorded, &server->watches, now_ns);
}

void hs_session_server_end_watches(struct hs_session_server *server)
{
    hs_watches_end_all(&server->watches);
}

void hs_session_server_close(struct hs_session_server *server,
                             const struct hs_session_server_outcome *outcome)
{
    Hs__Ctl__Stopped stopped = HS__CTL__STOPPED__INIT;
    hs_watches_end_all(&server->watches);
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
