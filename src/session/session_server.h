/*
 * The session server: where a command that records processes itself (run, attach) answers what other commands ask: list,
 * snapshot, stop. A daemon has peers and orders instead.
 *
 * They come through the socket at which its processes announce themselves; the registry passes them on. One request
 * a connection, which has come whole by then: it is answered at once, and nothing is waited for. Only who
 * asks for the end is kept waiting until the file is whole.
 *
 *     struct hs_session_server session server = { .command = "attach", ... };
 *     hs_session_server_open(&session server);
 *     hs_session_server_serve(&session server, connection_fd, now);     on_peer
 *     if (session server.is_stop_asked) ...
 *     hs_session_server_close(&session server, &outcome);
 *
 * Who may ask: our own user, and root; he may know of all that we record.
 *
 * Threads   one.
 * Fails     whoever makes no sense is hung up on.
 */
#pragma once

#include "collect/registry.h"
#include "session/answers.h"
#include "session/session.h"

#define HS_SESSION_SERVER_WAITING_MAX 16

/* What there is to say of the one session, besides what its processes know. */
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
    const void *ctx;
    bool can_stop;
    bool is_stop_asked;
    uint64_t start_real_ns;
    char name[32];   /* of the session: attach.PID */
    char *full_path; /* owned: `path`, as it is called from anywhere; NULL: unknown */
    int waiting[HS_SESSION_SERVER_WAITING_MAX];
    size_t waiting_count;
};

/* How it ended, for those who wait: the file's size, or why there is none. */
struct hs_session_server_outcome {
    const char *error; /* NULL: it is whole */
    uint64_t file_bytes, process_count, dump_count;
};

/* From now on. The fields up to can_stop are set. */
void hs_session_server_open(struct hs_session_server *server);

/* Takes over the connection. */
void hs_session_server_serve(struct hs_session_server *server, int connection_fd, uint64_t now_ns);

/* Tells those who wait. Fine on a zeroed one, and again. */
void hs_session_server_close(struct hs_session_server *server,
                             const struct hs_session_server_outcome *outcome);
