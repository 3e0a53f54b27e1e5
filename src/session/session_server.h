/*
 * The session server answers `list`, `snapshot`, `watch` and `stop` for a command that
 * records processes itself (run, attach). A daemon has peers and recording jobs instead.
 *
 * Requests come through the socket at which the recorded processes announce themselves; the
 * registry passes them on. A connection carries one request, which is complete when the server gets
 * the connection. So the server answers at once and waits for nothing. It keeps only the
 * connections that ask for the end: they get their answer when the file is complete.
 *
 *     struct hs_session_server server = { .command = "attach", ... };
 *     hs_session_server_open(&server);
 *     hs_session_server_serve(&server, connection_fd, now);     in on_peer
 *     if (server.is_stop_asked) ...
 *     hs_session_server_turn(&server, now);                     in the loop
 *     hs_session_server_close(&server, &outcome);
 *
 * Our own user and root may ask, and may see everything that we record.
 *
 * Threads   one.
 * Fails     the server closes a connection whose request is malformed.
 */
#pragma once

#include "collect/registry.h"
#include "session/answers.h"
#include "session/session.h"
#include "watch/send/watches.h"

#define HS_SESSION_SERVER_WAITING_MAX 16

/* The figures of the session, except those of its running processes. */
struct hs_session_server_figures {
    uint64_t ended_process_count, ended_sample_count, dump_count, file_bytes;
};

struct hs_session_server {
    const char *command; /* "run", "attach" */
    struct hs_registry *registry;
    const struct hs_session_settings *settings;
    const char *path;                                             /* of the file */
    bool (*has)(const void *ctx, const struct hs_target *target); /* does the session record it? */
    void (*look)(const void *ctx, struct hs_session_server_figures *ret_figures);
    const void *ctx;        /* for `has` and `look` */
    bool can_stop;          /* false: a request for the end is refused */
    bool is_stop_asked;     /* a peer has asked for the end */
    uint64_t start_real_ns; /* CLOCK_REALTIME */
    char name[32];          /* of the session: attach.PID */
    char *full_path;        /* owned: the absolute form of `path`; NULL: unknown */
    int waiting[HS_SESSION_SERVER_WAITING_MAX]; /* connections that have asked for the end */
    size_t waiting_count;
    struct hs_watches watches; /* of its processes */
};

/* How the session ended, for the connections that wait: the file's size, or why there is no
 * file. */
struct hs_session_server_outcome {
    const char *error; /* NULL: the file is complete */
    uint64_t file_bytes, process_count, dump_count;
};

/* Starts the server. The caller has set the fields up to can_stop. */
void hs_session_server_open(struct hs_session_server *server);

/* Answers the request of a connection, and takes the connection over. `now_ns` is
 * CLOCK_MONOTONIC. */
void hs_session_server_serve(struct hs_session_server *server, int connection_fd, uint64_t now_ns);

/* Ends the watches of processes that have ended. Returns when to call it again (CLOCK_MONOTONIC;
 * UINT64_MAX: nobody watches). */
uint64_t hs_session_server_turn(struct hs_session_server *server, uint64_t now_ns);

/* Ends all watches: the session is over. */
void hs_session_server_end_watches(struct hs_session_server *server);

/* Ends all watches, answers the connections that wait, and closes them. Accepts a zeroed or a
 * closed server. */
void hs_session_server_close(struct hs_session_server *server,
                             const struct hs_session_server_outcome *outcome);
