/*
 * One request, from its connection to its answer: see http_server_state.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "http/http_server_state.h"
#include "http/peer_user.h"
#include "rt/base.h"
#include "rt/check.h"
#include "rt/clock.h"

/* --- connections ------------------------------------------------------------------------------ */

enum MHD_Result hs_http_accept(void *ctx, const struct sockaddr *addr, socklen_t addr_bytes)
{
    struct hs_http_server *server = ctx;
    struct sockaddr_in peer;
    uid_t uid = (uid_t)-1;
    if (addr_bytes >= sizeof(peer) && addr->sa_family == AF_INET) {
        memcpy(&peer, addr, sizeof(peer));
        if (!server->is_ending && hs_peer_user(&peer, &server->own, &uid) == 0 &&
            (uid == 0 || uid == server->owner.user)) {
            return MHD_YES;
        }
    }
    server->counts.foreign_count++;
    return MHD_NO;
}

static void connection_new(struct hs_http_server *server, struct MHD_Connection *mhd,
                           void **socket_ctx)
{
    const union MHD_ConnectionInfo *info =
        server->library->get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct hs_http_connection *connection = info ? calloc(1, sizeof(*connection)) : NULL;
    struct hs_http_connection **last = &server->connections;
    *socket_ctx = connection;
    if (!connection) {
        return; /* its request will be refused */
    }
    connection->server = server;
    connection->mhd = mhd;
    connection->fd = info->connect_fd;
    connection->until_ns =
        hs_clock_ns(CLOCK_MONOTONIC) +
        (server->owner.request_ns ? server->owner.request_ns : HS_HTTP_REQUEST_NS);
    connection->job.end_fd = connection->job.out_fd = -1;
    connection->hangup = (struct hs_http_watch){ HS_HTTP_EVENT_HANGUP, connection };
    connection->ended = (struct hs_http_watch){ HS_HTTP_EVENT_JOB, connection };
    connection->output = (struct hs_http_watch){ HS_HTTP_EVENT_OUTPUT, connection };
    while (*last) {
        last = &(*last)->next;
    }
    *last = connection;
    server->counts.connection_count++;
}

/* Ends the job or stream, if there is one. */
static void end_job(struct hs_http_connection *connection)
{
    struct hs_http_counts *counts = &connection->server->counts;
    if (connection->job.answer) {
        bool is_stream = connection->route->kind == HS_HTTP_STREAM;
        unsigned *count = is_stream ? &counts->stream_count : &counts->job_count;
        HS_ASSERT(*count > 0);
        *count -= 1;
        hs_http_job_end(&connection->job);
    }
}

static void connection_free(struct hs_http_connection *connection)
{
    struct hs_http_server *server = connection->server;
    struct hs_http_connection **at = &server->connections;
    while (*at != connection) {
        at = &(*at)->next;
    }
    *at = connection->next;
    server->counts.connection_count--;
    end_job(connection);
    hs_buf_deinit(&connection->body);
    free(connection->request);
    free(connection);
}

void hs_http_connection_change(void *ctx, struct MHD_Connection *mhd, void **socket_ctx,
                               enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        connection_new(ctx, mhd, socket_ctx);
    } else if (*socket_ctx) {
        connection_free(*socket_ctx);
        *socket_ctx = NULL;
    }
}

/* --- the head --------------------------------------------------------------------------------- */

void *hs_http_take_target(void *ctx, const char *target, struct MHD_Connection *mhd)
{
    struct hs_http_server *server = ctx;
    const union MHD_ConnectionInfo *info =
        server->library->get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct hs_http_connection *connection = info ? info->socket_context : NULL;
    if (connection && !connection->request) {
        connection->request = calloc(1, sizeof(*connection->request));
        connection->has_target =
            connection->request && hs_http_request_take_target(connection->request, target) == 0;
    }
    return connection;
}

static enum MHD_Result take_header(void *ctx, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    (void)kind;
    hs_http_request_take_header(ctx, name, value);
    return MHD_YES;
}

static enum MHD_Result find_length(void *ctx, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    (void)kind;
    if (value && strcasecmp(name, "Content-Length") == 0) {
        *(unsigned long long *)ctx = strtoull(value, NULL, 10);
    }
    return MHD_YES;
}

static enum MHD_Result refuse(struct hs_http_connection *connection, unsigned status,
                              const char *text)
{
    connection->server->counts.refused_count++;
    return hs_http_send_error(connection, status, text);
}

/* Checks what can be known before the body. *ret_is_over: it is answered. */
static enum MHD_Result judge(struct hs_http_connection *connection, const char *method,
                             bool *ret_is_over)
{
    struct hs_http_server *server = connection->server;
    struct hs_http_request *request = connection->request;
    unsigned long long body_bytes = 0;
    bool is_method = false;
    *ret_is_over = true;
    request->method = hs_http_method_of(method);
    request->body = "";
    server->library->get_connection_values(connection->mhd, MHD_HEADER_KIND, take_header, request);
    server->library->get_connection_values(connection->mhd, MHD_HEADER_KIND, find_length,
                                           &body_bytes);
    if (!connection->has_target) {
        return refuse(connection, MHD_HTTP_BAD_REQUEST, "The address cannot be read.");
    }
    connection->verdict = hs_http_check(&server->policy, request);
    if (hs_http_verdict_words[connection->verdict]) {
        return refuse(connection,
                      connection->verdict == HS_HTTP_AMBIGUOUS  ? MHD_HTTP_BAD_REQUEST
                      : connection->verdict == HS_HTTP_BAD_TYPE ? MHD_HTTP_UNSUPPORTED_MEDIA_TYPE
                                                                : MHD_HTTP_FORBIDDEN,
                      hs_http_verdict_words[connection->verdict]);
    }
    if (request->method == HS_HTTP_OPTIONS && server->policy.foreign_origin) {
        return hs_http_send_preflight(connection);
    }
    connection->route = hs_http_route_find(&server->owner.routes, request, &is_method);
    if (!connection->route) {
        return refuse(connection, is_method ? MHD_HTTP_METHOD_NOT_ALLOWED : MHD_HTTP_NOT_FOUND,
                      is_method ? "This method is not allowed here." : "There is no such address.");
    }
    if (body_bytes > HS_HTTP_BODY_BYTES_MAX) {
        return refuse(connection, MHD_HTTP_CONTENT_TOO_LARGE, "The body is too long.");
    }
    *ret_is_over = false;
    return MHD_YES;
}

/* --- the answer ------------------------------------------------------------------------------- */

static bool start_job(struct hs_http_connection *connection)
{
    struct hs_http_server *server = connection->server;
    bool is_stream = connection->route->kind == HS_HTTP_STREAM;
    if (hs_http_job_start(connection->route, server->owner.ctx, connection->request,
                          &connection->job) != 0) {
        return false;
    }
    *(is_stream ? &server->counts.stream_count : &server->counts.job_count) += 1;
    if (!is_stream) {
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = &connection->ended };
        epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, connection->job.end_fd, &event);
        connection->state = HS_HTTP_RUNNING;
        connection->until_ns = connection->job.until_ns;
    }
    return true;
}

static enum MHD_Result begin_stream(struct hs_http_connection *connection)
{
    if (connection->server->counts.stream_count >= HS_HTTP_STREAMS_MAX) {
        return hs_http_send_failure(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                                    "Too many views are open at the same time.");
    }
    return start_job(connection) ? hs_http_send_stream(connection) : MHD_NO;
}

static enum MHD_Result begin_job(struct hs_http_connection *connection)
{
    const struct hs_http_owner *owner = &connection->server->owner;
    struct hs_http_slice slice = { .fd = -1 };
    if (owner->find && owner->find(owner->ctx, connection->route, connection->request, &slice)) {
        return hs_http_send_slice(connection, &slice);
    }
    connection->state = HS_HTTP_WAITING;
    connection->until_ns = UINT64_MAX;
    hs_http_suspend(connection);
    return MHD_YES;
}

static enum MHD_Result dispatch(struct hs_http_connection *connection)
{
    connection->server->counts.request_count++;
    connection->request->body = hs_buf_text(&connection->body);
    connection->request->body_bytes = connection->body.bytes;
    switch (connection->route->kind) {
    case HS_HTTP_BYTES:
        return connection->verdict == HS_HTTP_ALLOWED_BY_ADDRESS ? hs_http_send_redirect(connection)
                                                                 : hs_http_send_bytes(connection);
    case HS_HTTP_FILE:
        return hs_http_send_file(connection);
    case HS_HTTP_STREAM:
        return begin_stream(connection);
    case HS_HTTP_JOB:
        return begin_job(connection);
    }
    return MHD_NO;
}

enum MHD_Result hs_http_take_request(void *ctx, struct MHD_Connection *mhd, const char *url,
                                     const char *method, const char *version, const char *body,
                                     size_t *body_bytes, void **request_ctx)
{
    struct hs_http_connection *connection = *request_ctx;
    bool is_over = false;
    (void)ctx;
    (void)mhd;
    (void)url;
    (void)version;
    if (!connection || !connection->request || connection->is_hung_up) {
        return MHD_NO; /* out of memory, or the answer is not wanted any more */
    }
    if (connection->state == HS_HTTP_READY) {
        return hs_http_send_answer(connection);
    }
    if (!connection->is_judged) {
        connection->is_judged = true;
        return judge(connection, method, &is_over);
    }
    if (*body_bytes > 0) {
        hs_buf_add(&connection->body, body, *body_bytes);
        *body_bytes = 0;
        /* Its length was not announced: the connection is closed. */
        return connection->body.err || connection->body.bytes > HS_HTTP_BODY_BYTES_MAX ? MHD_NO
                                                                                       : MHD_YES;
    }
    return connection->state == HS_HTTP_READING ? dispatch(connection) : MHD_YES;
}

void hs_http_request_over(void *ctx, struct MHD_Connection *mhd, void **request_ctx,
                          enum MHD_RequestTerminationCode code)
{
    struct hs_http_server *server = ctx;
    struct hs_http_connection *connection = *request_ctx;
    (void)mhd;
    *request_ctx = NULL;
    if (!connection) {
        return;
    }
    if (connection->is_once) {
        bool is_whole = code == MHD_REQUEST_TERMINATED_COMPLETED_OK;
        connection->is_once = false;
        server->once = is_whole ? HS_HTTP_ONCE_SENT : HS_HTTP_ONCE_FREE;
        if (is_whole && server->owner.on_sent) {
            server->owner.on_sent(server->owner.ctx, connection->route);
        }
    }
    end_job(connection);
}

/* --- events ----------------------------------------------------------------------------------- */

static void finish_job(struct hs_http_connection *connection)
{
    struct hs_http_server *server = connection->server;
    epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, connection->job.end_fd, NULL);
    hs_http_job_reap(&connection->job);
    if (connection->job.answer->status < 400 && server->owner.on_done) {
        server->owner.on_done(
            server->owner.ctx, connection->route, connection->request, connection->job.answer,
            hs_clock_ns(CLOCK_MONOTONIC) - connection->job.start_ns, connection->job.out_fd);
    }
    connection->state = HS_HTTP_READY;
    hs_http_resume(connection);
}

/* The browser does not want the answer any more. What a POST has begun is not ended half way. */
static void take_hangup(struct hs_http_connection *connection)
{
    bool is_acting = connection->route->method == HS_HTTP_POST;
    connection->is_hung_up = true;
    shutdown(connection->fd, SHUT_RDWR);
    if (connection->state == HS_HTTP_RUNNING && is_acting) {
        epoll_ctl(connection->server->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
    } else if (connection->state == HS_HTTP_RUNNING) {
        finish_job(connection);
    } else {
        connection->state = HS_HTTP_SENDING;
        hs_http_resume(connection);
    }
}

void hs_http_take_event(struct hs_http_connection *connection, enum hs_http_event event)
{
    switch (event) {
    case HS_HTTP_EVENT_HANGUP:
        take_hangup(connection);
        return;
    case HS_HTTP_EVENT_JOB:
        finish_job(connection);
        return;
    case HS_HTTP_EVENT_OUTPUT:
        hs_http_resume(connection);
        return;
    case HS_HTTP_EVENT_LIBRARY:
    case HS_HTTP_EVENT_END:
        return;
    }
}

void hs_http_start_jobs(struct hs_http_server *server)
{
    struct hs_http_connection *at = server->connections;
    for (; at && server->counts.job_count < HS_HTTP_JOBS_MAX; at = at->next) {
        if (at->state == HS_HTTP_WAITING && !start_job(at)) {
            take_hangup(at);
        }
    }
}

void hs_http_expire(struct hs_http_server *server, uint64_t now_ns)
{
    for (struct hs_http_connection *at = server->connections; at; at = at->next) {
        if (at->until_ns > now_ns) {
            continue;
        }
        at->until_ns = UINT64_MAX;
        server->counts.slow_count++;
        if (at->state == HS_HTTP_RUNNING) {
            finish_job(at);
        } else {
            /* The library sees the end of the connection, and frees it. */
            shutdown(at->fd, SHUT_RDWR);
        }
    }
}
