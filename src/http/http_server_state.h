/*
 * The state of a server and of its connections, for the files that make it up: http_server.c (the
 * socket and the loop), http_connection.c (one request) and http_send.c (answers).
 *
 * A connection is one request:
 *
 *     READING ──whole──► WAITING ──► RUNNING ──► READY ──► SENDING ──► closed
 *        │                                                   ▲
 *        └── refused, or answered from memory or a file ─────┘
 *
 * WAITING, RUNNING and READY are of a job; the library does not look at the connection meanwhile
 * (it is suspended), so the loop itself watches whether the browser closes it. A stream is SENDING
 * from its first byte on, and is suspended while there is nothing to send.
 *
 * Ensures   the numbers of jobs and streams are those of the connections that have one.
 * Threads   one.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "http/http_checks.h"
#include "http/http_job.h"
#include "http/http_request.h"
#include "http/http_server.h"
#include "http/microhttpd_library.h"
#include "util/buf.h"

enum hs_http_state {
    HS_HTTP_READING,
    HS_HTTP_WAITING,
    HS_HTTP_RUNNING,
    HS_HTTP_READY,
    HS_HTTP_SENDING,
};

enum hs_http_event {
    HS_HTTP_EVENT_LIBRARY, /* one of the library's descriptors */
    HS_HTTP_EVENT_END,     /* the owner's descriptor */
    HS_HTTP_EVENT_HANGUP,  /* the browser closed the connection */
    HS_HTTP_EVENT_JOB,     /* a job has ended */
    HS_HTTP_EVENT_OUTPUT,  /* a stream has something to send */
};

struct hs_http_connection;

/* What an event of the loop is about. */
struct hs_http_watch {
    enum hs_http_event event;
    struct hs_http_connection *connection; /* NULL: of the server */
};

struct hs_http_connection {
    struct hs_http_server *server;
    struct hs_http_connection *next;
    struct MHD_Connection *mhd;
    int fd;
    enum hs_http_state state;
    uint64_t until_ns;               /* CLOCK_MONOTONIC: when it is closed; UINT64_MAX: never */
    struct hs_http_request *request; /* NULL: none has begun */
    struct hs_buf body;
    bool is_judged;  /* the head has been checked */
    bool has_target; /* the target is one that can be read */
    const struct hs_http_route *route;
    enum hs_http_verdict verdict;
    struct hs_http_job job;
    bool is_suspended, is_hung_up, is_once;
    struct hs_http_watch hangup, ended, output;
};

enum hs_http_once {
    HS_HTTP_ONCE_FREE,
    HS_HTTP_ONCE_SENDING,
    HS_HTTP_ONCE_SENT,
};

struct hs_http_server {
    struct hs_http_owner owner;
    struct hs_http_policy policy;
    const struct hs_microhttpd *library;
    struct MHD_Daemon *daemon;
    struct sockaddr_in own;
    int listen_fd; /* the library's, once it has started */
    int epoll_fd;
    struct hs_http_connection *connections; /* oldest first */
    struct hs_http_counts counts;
    enum hs_http_once once;
    bool is_ending;
    uint64_t end_until_ns;
    struct hs_http_watch library_watch, end_watch;
};

/* --- http_connection.c ------------------------------------------------------------------------ */

/* Callbacks of the library; `ctx` is the server. */
enum MHD_Result hs_http_accept(void *ctx, const struct sockaddr *addr, socklen_t addr_bytes);
void hs_http_connection_change(void *ctx, struct MHD_Connection *mhd, void **socket_ctx,
                               enum MHD_ConnectionNotificationCode code);
void *hs_http_take_target(void *ctx, const char *target, struct MHD_Connection *mhd);
enum MHD_Result hs_http_take_request(void *ctx, struct MHD_Connection *mhd, const char *url,
                                     const char *method, const char *version, const char *body,
                                     size_t *body_bytes, void **request_ctx);
void hs_http_request_over(void *ctx, struct MHD_Connection *mhd, void **request_ctx,
                          enum MHD_RequestTerminationCode code);

/* Starts jobs that wait, as far as there is room. */
void hs_http_start_jobs(struct hs_http_server *server);
/* Takes an event of one connection. */
void hs_http_take_event(struct hs_http_connection *connection, enum hs_http_event event);
/* Closes connections whose time is over, and ends jobs whose time is over. */
void hs_http_expire(struct hs_http_server *server, uint64_t now_ns);

/* --- http_send.c ------------------------------------------------------------------------------ */

/* Sends an error, as JSON below /api/ and as text elsewhere. */
enum MHD_Result hs_http_send_error(struct hs_http_connection *connection, unsigned status,
                                   const char *text);
/* The same for a request that has passed all checks. If it has the header "X-Heapscope-Errors:
 * as-answers", the status of HTTP is 200, and the header X-Heapscope-Status has the other one:
 * browsers write each answer with an error's status on the console, whatever the page makes of
 * it. */
enum MHD_Result hs_http_send_failure(struct hs_http_connection *connection, unsigned status,
                                     const char *text);
/* Sends what a route has in memory or as a file. */
enum MHD_Result hs_http_send_bytes(struct hs_http_connection *connection);
enum MHD_Result hs_http_send_file(struct hs_http_connection *connection);
/* Sends the browser on to the address without the token. */
enum MHD_Result hs_http_send_redirect(struct hs_http_connection *connection);
/* Says that the other site may send requests. */
enum MHD_Result hs_http_send_preflight(struct hs_http_connection *connection);
/* Sends what the job, which has ended, has left. */
enum MHD_Result hs_http_send_answer(struct hs_http_connection *connection);
/* Sends a part of a file, and takes its descriptor. */
enum MHD_Result hs_http_send_slice(struct hs_http_connection *connection,
                                   const struct hs_http_slice *slice);
/* Begins to send what the job writes. */
enum MHD_Result hs_http_send_stream(struct hs_http_connection *connection);

/* Suspends a connection, and watches whether the browser closes it; and the opposite. */
void hs_http_suspend(struct hs_http_connection *connection);
void hs_http_resume(struct hs_http_connection *connection);
