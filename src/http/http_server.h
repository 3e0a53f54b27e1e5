/*
 * A server for one user on loopback: it answers a table of routes, and nothing else.
 *
 *     struct hs_http_owner owner = { .routes = { table, count }, .needs_token = true, ... };
 *     hs_http_server_open(&owner, 0, &server);
 *     hs_http_server_address(server, text)      print it
 *     hs_http_server_run(server, signal_fd);    until the descriptor is readable or
 *                                               hs_http_server_end() was called
 *     hs_http_server_close(server);
 *
 * Who may ask:
 *   - The socket is bound to 127.0.0.1.
 *   - The kernel says which user a connection belongs to. One of another user is closed before a
 *     byte of it is read (peer_user.h); root's and those of owner.user stay.
 *   - Each request passes the checks of http_checks.h.
 *
 * What it can cost: each connection is one request, and has HS_HTTP_REQUEST_NS to send it. The
 * sizes of heads and bodies, and the numbers of connections, jobs and streams have limits. Each
 * answer must be taken in a time that depends on its size.
 *
 * Threads   one, which calls all of this. The functions of routes run in processes of their own.
 * Fails     -errno; -ENOPKG: libmicrohttpd is not installed; -EADDRINUSE: the port has another
 *           user.
 * See       docs/adr/0055-the-servers-checks.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "http/http_route.h"

/* Time for a whole request, from accept() on. */
#define HS_HTTP_REQUEST_NS UINT64_C(10000000000)
/* Time to take an answer, besides a second for each MiB. */
#define HS_HTTP_SEND_NS           UINT64_C(60000000000)
#define HS_HTTP_HEAD_BYTES_MAX    32768U /* request line and headers, and what the library needs */
#define HS_HTTP_BODY_BYTES_MAX    65536U
#define HS_HTTP_CONNECTIONS_MAX   64U
#define HS_HTTP_FROM_ADDRESS_MAX  48U /* connections from one address */
#define HS_HTTP_JOBS_MAX          4U  /* further ones wait */
#define HS_HTTP_STREAMS_MAX       8U
#define HS_HTTP_ADDRESS_BYTES_MAX 160

struct hs_http_server;

/* Counters since the start. */
struct hs_http_counts {
    uint64_t request_count;                             /* whole requests */
    uint64_t refused_count;                             /* of these, refused by a check */
    uint64_t foreign_count;                             /* connections of other users */
    uint64_t slow_count;                                /* connections that took too long */
    unsigned connection_count, job_count, stream_count; /* now */
};

/* Who runs the server; belongs to the caller, and must outlive it. */
struct hs_http_owner {
    struct hs_http_routes routes;
    bool needs_token;
    const char *foreign_origin; /* the one other site that may read; NULL: none */
    const char *page_policy;    /* Content-Security-Policy of the routes with HTML */
    uid_t user;                 /* whose connections are served, besides root's */
    uint64_t request_ns;        /* time for a whole request; 0: HS_HTTP_REQUEST_NS */
    void *ctx;                  /* for the functions below, and those of the routes */
    /* Is the answer to a request for a job there already? Asked before the job, and after it has
     * ended: then the answer need not be what the job wrote. NULL: never. */
    bool (*find)(void *ctx, const struct hs_http_route *route,
                 const struct hs_http_request *request, struct hs_http_slice *ret_slice);
    /* A job has ended well, after took_ns, and its answer is sent: out_fd is the file in memory,
     * which the server closes. NULL: nothing to do. */
    void (*on_done)(void *ctx, const struct hs_http_route *route,
                    const struct hs_http_request *request, const struct hs_http_answer *answer,
                    uint64_t took_ns, int out_fd);
    /* A file was sent whole. NULL: nothing to do. */
    void (*on_sent)(void *ctx, const struct hs_http_route *route);
};

/* Binds the port of 127.0.0.1; 0: a free one. 0 or -errno. */
int hs_http_server_open(const struct hs_http_owner *owner, uint16_t port,
                        struct hs_http_server **ret_server);

/* The port that it listens at. */
uint16_t hs_http_server_port(const struct hs_http_server *server);
/* The address to open: with `path`, and with the token if one is needed. */
void hs_http_server_address(const struct hs_http_server *server, const char *path,
                            char ret_address[HS_HTTP_ADDRESS_BYTES_MAX]);
/* The counters. */
struct hs_http_counts hs_http_server_counts(const struct hs_http_server *server);

/* Serves. 1: the descriptor is readable; 0: the end was asked for; or -errno. */
int hs_http_server_run(struct hs_http_server *server, int end_fd);
/* hs_http_server_run() returns when the answers that are being sent are sent. */
void hs_http_server_end(struct hs_http_server *server);

/* Closes all connections, ends all jobs, and frees the server. Accepts NULL. */
void hs_http_server_close(struct hs_http_server *server);
