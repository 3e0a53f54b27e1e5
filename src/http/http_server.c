/*
 * The socket and the loop: see http_server.h.
 */
#include "http/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/http_server_state.h"
#include "rt/check.h"
#include "rt/clock.h"

#define NS_PER_MS UINT64_C(1000000)
#define BACKLOG   64
/* After the end was asked for, connections have this long to take what is being sent. */
#define END_NS UINT64_C(2000000000)

/* --- opening ---------------------------------------------------------------------------------- */

static int open_socket(struct hs_http_server *server, uint16_t port)
{
    const int on = 1;
    socklen_t bytes = sizeof(server->own);
    server->own = (struct sockaddr_in){ .sin_family = AF_INET,
                                        .sin_port = htons(port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -errno;
    }
    /* A port that was used a moment ago is free; two servers cannot listen at one port. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        bind(fd, (const struct sockaddr *)(const void *)&server->own, sizeof(server->own)) != 0 ||
        listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)(void *)&server->own, &bytes) != 0) {
        int r = -errno;
        close(fd);
        return r;
    }
    server->listen_fd = fd;
    return 0;
}

static int start_library(struct hs_http_server *server)
{
    const struct MHD_OptionItem options[] = {
        { MHD_OPTION_LISTEN_SOCKET, server->listen_fd, NULL },
        { MHD_OPTION_CONNECTION_LIMIT, HS_HTTP_CONNECTIONS_MAX, NULL },
        { MHD_OPTION_PER_IP_CONNECTION_LIMIT, HS_HTTP_FROM_ADDRESS_MAX, NULL },
        { MHD_OPTION_CONNECTION_MEMORY_LIMIT, HS_HTTP_HEAD_BYTES_MAX, NULL },
        { MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL },
        { MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)hs_http_request_over, server },
        { MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)hs_http_connection_change, server },
        { MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)hs_http_take_target, server },
        { MHD_OPTION_END, 0, NULL },
    };
    server->daemon = server->library->start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, hs_http_accept, server, hs_http_take_request,
        server, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
    if (!server->daemon) {
        return -EIO;
    }
    server->listen_fd = -1; /* the library closes it */
    return 0;
}

static int watch(struct hs_http_server *server, int fd, struct hs_http_watch *about)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = about };
    return epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static int watch_library(struct hs_http_server *server)
{
    const union MHD_DaemonInfo *info =
        server->library->get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (server->epoll_fd < 0) {
        return -errno;
    }
    server->library_watch.event = HS_HTTP_EVENT_LIBRARY;
    server->end_watch.event = HS_HTTP_EVENT_END;
    return info ? watch(server, info->listen_fd, &server->library_watch) : -EIO;
}

int hs_http_server_open(const struct hs_http_owner *owner, uint16_t port,
                        struct hs_http_server **ret_server)
{
    struct hs_http_server *server = calloc(1, sizeof(*server));
    if (!server) {
        return -ENOMEM;
    }
    server->owner = *owner;
    server->listen_fd = server->epoll_fd = -1;
    server->library = hs_microhttpd_load();
    int r = server->library ? open_socket(server, port) : -ENOPKG;
    if (r == 0) {
        r = hs_http_policy_init(ntohs(server->own.sin_port), owner->needs_token,
                                owner->foreign_origin, &server->policy);
    }
    r = r ? r : start_library(server);
    r = r ? r : watch_library(server);
    if (r != 0) {
        hs_http_server_close(server);
        return r;
    }
    *ret_server = server;
    return 0;
}

void hs_http_server_close(struct hs_http_server *server)
{
    if (!server) {
        return;
    }
    if (server->library && server->daemon) {
        for (struct hs_http_connection *at = server->connections; at; at = at->next) {
            hs_http_resume(at); /* the library waits for none that is suspended */
        }
        server->library->stop_daemon(server->daemon);
    }
    HS_ASSERT(!server->connections);
    if (server->listen_fd >= 0) {
        close(server->listen_fd);
    }
    if (server->epoll_fd >= 0) {
        close(server->epoll_fd);
    }
    free(server);
}

/* --- facts ------------------------------------------------------------------------------------ */

uint16_t hs_http_server_port(const struct hs_http_server *server)
{
    return server->policy.port;
}

void hs_http_server_address(const struct hs_http_server *server, const char *path,
                            char ret_address[HS_HTTP_ADDRESS_BYTES_MAX])
{
    bool has_token = server->policy.needs_token;
    snprintf(ret_address, HS_HTTP_ADDRESS_BYTES_MAX, "http://127.0.0.1:%u%s%s%s",
             server->policy.port, path, has_token ? "?token=" : "",
             has_token ? server->policy.token : "");
}

struct hs_http_counts hs_http_server_counts(const struct hs_http_server *server)
{
    return server->counts;
}

/* --- the loop --------------------------------------------------------------------------------- */

static int timeout_ms(const struct hs_http_server *server, uint64_t now_ns)
{
    MHD_UNSIGNED_LONG_LONG library_ms = 0;
    uint64_t until_ns = server->is_ending ? server->end_until_ns : UINT64_MAX;
    uint64_t wait_ms = UINT64_MAX;
    for (const struct hs_http_connection *at = server->connections; at; at = at->next) {
        until_ns = at->until_ns < until_ns ? at->until_ns : until_ns;
    }
    if (until_ns != UINT64_MAX) {
        wait_ms = until_ns <= now_ns ? 0 : (until_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
    }
    if (server->library->get_timeout(server->daemon, &library_ms) == MHD_YES &&
        library_ms < wait_ms) {
        wait_ms = library_ms;
    }
    return wait_ms == UINT64_MAX ? -1 : wait_ms > 60000 ? 60000 : (int)wait_ms;
}

static bool is_sending(const struct hs_http_server *server)
{
    for (const struct hs_http_connection *at = server->connections; at; at = at->next) {
        if (at->state == HS_HTTP_SENDING) {
            return true;
        }
    }
    return false;
}

static bool is_over(const struct hs_http_server *server, uint64_t now_ns)
{
    return server->is_ending && (!is_sending(server) || now_ns >= server->end_until_ns);
}

int hs_http_server_run(struct hs_http_server *server, int end_fd)
{
    int r = watch(server, end_fd, &server->end_watch);
    uint64_t now_ns = hs_clock_ns(CLOCK_MONOTONIC);
    bool is_asked = false;
    while (r == 0 && !is_asked && !is_over(server, now_ns)) {
        /* One event at a time: what it does may end the connection of another one. */
        struct epoll_event event;
        int count = epoll_wait(server->epoll_fd, &event, 1, timeout_ms(server, now_ns));
        const struct hs_http_watch *about = count == 1 ? event.data.ptr : NULL;
        is_asked = about && about->event == HS_HTTP_EVENT_END;
        if (about && about->connection) {
            hs_http_take_event(about->connection, about->event);
        }
        now_ns = hs_clock_ns(CLOCK_MONOTONIC);
        hs_http_expire(server, now_ns);
        if (server->library->run(server->daemon) != MHD_YES) {
            r = -EIO;
        }
        hs_http_start_jobs(server);
    }
    epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, end_fd, NULL);
    return r == 0 && is_asked ? 1 : r;
}

void hs_http_server_end(struct hs_http_server *server)
{
    if (!server->is_ending) {
        server->is_ending = true;
        server->end_until_ns = hs_clock_ns(CLOCK_MONOTONIC) + END_NS;
    }
}
