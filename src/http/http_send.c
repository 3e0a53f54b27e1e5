/*
 * Answers, with the headers that each of them has: see http_server_state.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/http_server_state.h"
#include "rt/base.h"
#include "rt/clock.h"
#include "rt/text.h"
#include "util/json.h"

#define NO_PAGE_POLICY "default-src 'none'; frame-ancestors 'none'; sandbox"
#define NS_PER_MIB     UINT64_C(1000000000)
#define STREAM_BYTES   16384

/* --- headers ---------------------------------------------------------------------------------- */

static void add(const struct hs_http_connection *connection, struct MHD_Response *response,
                const char *name, const char *value)
{
    connection->server->library->add_response_header(response, name, value);
}

static void add_common(const struct hs_http_connection *connection, struct MHD_Response *response,
                       const char *content_type)
{
    const struct hs_http_server *server = connection->server;
    bool is_page = hs_text_starts_with(content_type, "text/html") && server->owner.page_policy;
    add(connection, response, "Content-Type", content_type);
    add(connection, response, "Content-Security-Policy",
        is_page ? server->owner.page_policy : NO_PAGE_POLICY);
    add(connection, response, "X-Content-Type-Options", "nosniff");
    add(connection, response, "X-Frame-Options", "DENY");
    add(connection, response, "Referrer-Policy", "no-referrer");
    add(connection, response, "Cross-Origin-Resource-Policy", "same-origin");
    add(connection, response, "Cross-Origin-Opener-Policy", "same-origin");
    add(connection, response, "Cache-Control", "no-store");
    add(connection, response, "Connection", "close");
    if (server->policy.foreign_origin) {
        add(connection, response, "Access-Control-Allow-Origin", server->policy.foreign_origin);
        add(connection, response, "Vary", "Origin");
    }
    if (connection->verdict == HS_HTTP_ALLOWED_BY_ADDRESS) {
        char cookie[192];
        snprintf(cookie, sizeof(cookie), "%s=%s; Path=/; HttpOnly; SameSite=Strict",
                 server->policy.cookie_name, server->policy.cookie);
        add(connection, response, "Set-Cookie", cookie);
    }
}

/* The name is of our own making, but has a name of a program in it. */
static void add_download(const struct hs_http_connection *connection, struct MHD_Response *response,
                         const char *name)
{
    char safe[HS_HTTP_NAME_BYTES], value[HS_HTTP_NAME_BYTES + 32];
    size_t bytes = 0;
    for (; name[bytes] && bytes < sizeof(safe) - 1; bytes++) {
        char c = name[bytes];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
        safe[bytes] = is_plain ? c : '_';
    }
    safe[bytes] = '\0';
    snprintf(value, sizeof(value), "attachment; filename=\"%s\"", safe);
    add(connection, response, "Content-Disposition", value);
}

/* Gives the response to the library, and begins the time that the browser has to take it. */
static enum MHD_Result send_response(struct hs_http_connection *connection, unsigned status,
                                     struct MHD_Response *response, uint64_t bytes)
{
    const struct hs_microhttpd *library = connection->server->library;
    if (!response) {
        return MHD_NO;
    }
    enum MHD_Result result = library->queue_response(connection->mhd, status, response);
    library->destroy_response(response);
    connection->state = HS_HTTP_SENDING;
    connection->until_ns =
        hs_clock_ns(CLOCK_MONOTONIC) + HS_HTTP_SEND_NS + (bytes >> 20) * NS_PER_MIB;
    return result;
}

/* --- answers from memory ---------------------------------------------------------------------- */

/* `shown_status`: for a page that asked for errors as answers; 0: none. */
static enum MHD_Result send_copy(struct hs_http_connection *connection, unsigned status,
                                 unsigned shown_status, const char *content_type,
                                 struct hs_buf *body)
{
    char text_of_status[16];
    struct MHD_Response *response = connection->server->library->create_response_from_buffer(
        body->bytes, (void *)(uintptr_t)hs_buf_text(body), MHD_RESPMEM_MUST_COPY);
    if (response) {
        add_common(connection, response, content_type);
    }
    if (response && shown_status != 0) {
        snprintf(text_of_status, sizeof(text_of_status), "%u", shown_status);
        add(connection, response, "X-Heapscope-Status", text_of_status);
    }
    return send_response(connection, status, response, body->bytes);
}

static enum MHD_Result send_error(struct hs_http_connection *connection, unsigned status,
                                  unsigned shown_status, const char *text)
{
    const char *path = connection->has_target ? connection->request->path : "";
    struct hs_buf body = HS_BUF_INIT;
    struct hs_json json;
    bool is_json = hs_text_starts_with(path, "/api/");
    if (is_json) {
        hs_json_init(&json, &body, 0);
        hs_json_open(&json, '{');
        hs_json_kv_string(&json, "error", text);
        hs_json_close(&json, '}');
    } else {
        hs_buf_printf(&body, "%s\n", text);
    }
    const char *type = is_json ? HS_HTTP_TYPE_JSON : "text/plain; charset=utf-8";
    enum MHD_Result result =
        body.err ? MHD_NO : send_copy(connection, status, shown_status, type, &body);
    hs_buf_deinit(&body);
    return result;
}

enum MHD_Result hs_http_send_error(struct hs_http_connection *connection, unsigned status,
                                   const char *text)
{
    return send_error(connection, status, 0, text);
}

enum MHD_Result hs_http_send_failure(struct hs_http_connection *connection, unsigned status,
                                     const char *text)
{
    const char *errors = connection->request->headers[HS_HTTP_ERRORS];
    return errors && strcmp(errors, "as-answers") == 0
               ? send_error(connection, MHD_HTTP_OK, status, text)
               : send_error(connection, status, 0, text);
}

enum MHD_Result hs_http_send_bytes(struct hs_http_connection *connection)
{
    const struct hs_http_route *route = connection->route;
    struct MHD_Response *response = connection->server->library->create_response_from_buffer(
        route->bytes, (void *)(uintptr_t)route->data, MHD_RESPMEM_PERSISTENT);
    if (response) {
        add_common(connection, response, route->content_type);
    }
    return send_response(connection, MHD_HTTP_OK, response, route->bytes);
}

enum MHD_Result hs_http_send_redirect(struct hs_http_connection *connection)
{
    struct MHD_Response *response = connection->server->library->create_response_from_buffer(
        0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
    if (response) {
        add_common(connection, response, "text/plain; charset=utf-8");
        add(connection, response, "Location", connection->route->path);
    }
    return send_response(connection, MHD_HTTP_SEE_OTHER, response, 0);
}

enum MHD_Result hs_http_send_preflight(struct hs_http_connection *connection)
{
    struct MHD_Response *response = connection->server->library->create_response_from_buffer(
        0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
    if (response) {
        add_common(connection, response, "text/plain; charset=utf-8");
        add(connection, response, "Access-Control-Allow-Methods", "GET");
        add(connection, response, "Access-Control-Allow-Private-Network", "true");
    }
    return send_response(connection, MHD_HTTP_NO_CONTENT, response, 0);
}

/* --- files and jobs --------------------------------------------------------------------------- */

/* A response of a whole file. The library closes the descriptor; NULL: it is closed already. */
static struct MHD_Response *file_response(const struct hs_http_connection *connection, int fd,
                                          uint64_t *ret_bytes)
{
    struct stat st;
    struct MHD_Response *response = NULL;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= 0) {
        *ret_bytes = (uint64_t)st.st_size;
        response = connection->server->library->create_response_from_fd64(*ret_bytes, fd);
    }
    if (!response && fd >= 0) {
        close(fd);
    }
    return response;
}

enum MHD_Result hs_http_send_file(struct hs_http_connection *connection)
{
    struct hs_http_server *server = connection->server;
    const struct hs_http_route *route = connection->route;
    uint64_t bytes = 0;
    if (route->is_once && server->once != HS_HTTP_ONCE_FREE) {
        return hs_http_send_error(connection, MHD_HTTP_GONE,
                                  "The file is sent once, and that has begun.");
    }
    /* The library reads at offsets of its own. */
    struct MHD_Response *response =
        file_response(connection, fcntl(route->fd, F_DUPFD_CLOEXEC, 3), &bytes);
    if (!response) {
        return hs_http_send_error(connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
                                  "The file cannot be read.");
    }
    add_common(connection, response, route->content_type);
    if (route->is_once) {
        server->once = HS_HTTP_ONCE_SENDING;
        connection->is_once = true;
    }
    return send_response(connection, MHD_HTTP_OK, response, bytes);
}

enum MHD_Result hs_http_send_slice(struct hs_http_connection *connection,
                                   const struct hs_http_slice *slice)
{
    struct MHD_Response *response =
        connection->server->library->create_response_from_fd_at_offset64(slice->bytes, slice->fd,
                                                                         slice->off);
    if (!response) {
        close(slice->fd);
        return MHD_NO;
    }
    add_common(connection, response, slice->content_type);
    if (slice->is_gzip) {
        add(connection, response, "Content-Encoding", "gzip");
    }
    if (slice->download_name[0]) {
        add_download(connection, response, slice->download_name);
    }
    return send_response(connection, MHD_HTTP_OK, response, slice->bytes);
}

enum MHD_Result hs_http_send_answer(struct hs_http_connection *connection)
{
    const struct hs_http_server *server = connection->server;
    const struct hs_http_answer *answer = connection->job.answer;
    struct hs_http_slice slice = { .fd = -1 };
    uint64_t bytes = 0;
    if (answer->status >= 400) {
        return hs_http_send_failure(connection, answer->status,
                                    answer->error[0] ? answer->error : "no reason was given");
    }
    if (server->owner.find &&
        server->owner.find(server->owner.ctx, connection->route, connection->request, &slice)) {
        return hs_http_send_slice(connection, &slice);
    }
    int fd = fcntl(connection->job.out_fd, F_DUPFD_CLOEXEC, 3);
    struct MHD_Response *response = file_response(connection, fd, &bytes);
    if (!response) {
        return MHD_NO;
    }
    add_common(connection, response, answer->content_type);
    if (answer->is_gzip) {
        add(connection, response, "Content-Encoding", "gzip");
    }
    if (answer->download_name[0]) {
        add_download(connection, response, answer->download_name);
    }
    return send_response(connection, answer->status, response, bytes);
}

/* --- streams ---------------------------------------------------------------------------------- */

void hs_http_suspend(struct hs_http_connection *connection)
{
    struct epoll_event event = { .events = EPOLLRDHUP, .data.ptr = &connection->hangup };
    connection->is_suspended = true;
    connection->server->library->suspend_connection(connection->mhd);
    epoll_ctl(connection->server->epoll_fd, EPOLL_CTL_ADD, connection->fd, &event);
}

void hs_http_resume(struct hs_http_connection *connection)
{
    if (connection->is_suspended) {
        connection->is_suspended = false;
        epoll_ctl(connection->server->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
        connection->server->library->resume_connection(connection->mhd);
    }
}

/* One event: while there is nothing to read, and no more. */
static void watch_output(struct hs_http_connection *connection)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT,
                                 .data.ptr = &connection->output };
    int epoll_fd = connection->server->epoll_fd, fd = connection->job.out_fd;
    if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0) {
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
    }
}

static ssize_t read_stream(void *ctx, uint64_t position, char *buffer, size_t bytes)
{
    struct hs_http_connection *connection = ctx;
    (void)position;
    if (connection->is_hung_up) {
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    ssize_t got = read(connection->job.out_fd, buffer, bytes);
    if (got > 0) {
        return got;
    }
    if (got < 0 && errno == EAGAIN) {
        watch_output(connection);
        hs_http_suspend(connection);
        return 0;
    }
    return got == 0 ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
}

enum MHD_Result hs_http_send_stream(struct hs_http_connection *connection)
{
    struct MHD_Response *response = connection->server->library->create_response_from_callback(
        MHD_SIZE_UNKNOWN, STREAM_BYTES, read_stream, connection, NULL);
    if (response) {
        add_common(connection, response, connection->route->content_type);
    }
    enum MHD_Result result = send_response(connection, MHD_HTTP_OK, response, 0);
    connection->until_ns = UINT64_MAX;
    return result;
}
