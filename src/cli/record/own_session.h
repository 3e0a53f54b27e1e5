/*
 * The session of a command that records by itself (run, attach): its file, its trace, its answers
 * to other commands, and its end.
 *
 *     struct hs_own_session own = { .command = "attach", .path = path, ... };
 *     hs_own_session_open_file(&own);
 *     hs_own_session_begin(&own, &settings);           own.session
 *     hs_own_session_serve(&own, registry);            list, snapshot, watch and stop
 *                                                      are answered
 *     hs_own_session_take_peer(&own, connection_fd);   for each of their connections
 *     hs_own_session_turn(&own, now);                  in the loop
 *     ... the session records, until it is over ...
 *     hs_own_session_finish(&own);                     names, summary, the file's name
 *     hs_own_session_close(&own, why);
 *
 * Threads   main thread only.
 * Fails     -errno. The caller prints a message about errors of open_file and begin; find_client
 *           and finish print their own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/cmd.h"
#include "cli/record/run_file.h"
#include "session/session.h"
#include "session/session_server.h"

struct hs_own_session {
    const char *command;            /* "run", "attach" */
    const char *path;               /* the file's final name */
    const struct hs_run_head *head; /* NULL: none */
    const char *lost;               /* as in struct hs_run_summary */
    uint32_t stack_count;           /* in the summary */
    bool is_quiet;
    bool can_stop; /* `heapscope stop` ends it */
    struct hs_run_file file;
    struct hs_session *session; /* NULL until it has begun */
    struct hs_session_server server;
};

/* The value of `file` before it is opened. */
#define HS_OWN_SESSION_NO_FILE ((struct hs_run_file){ .out.fd = -1, .spool_fd = -1 })

/* Takes over from `head`, which may be NULL, what it says about the settings. */
void hs_own_session_take_head(struct hs_session_settings *settings, const struct hs_run_head *head);

/* Finds the client library. Returns 0 and its path, or -errno after a message. */
int hs_own_session_find_client(char *ret_path, size_t path_bytes);

/* Opens the file at `path`. 0 or -errno. */
int hs_own_session_open_file(struct hs_own_session *own);
/* Writes the head, and begins the session with these settings, which it takes over. 0 or -errno. */
int hs_own_session_begin(struct hs_own_session *own, struct hs_session_settings *settings);
/* Begins to answer other commands about the session. */
void hs_own_session_serve(struct hs_own_session *own, struct hs_registry *registry);
/* Answers the request of a connection, and takes the connection over. */
void hs_own_session_take_peer(struct hs_own_session *own, int connection_fd);
/* Does what is due for other commands. Returns when to call it again (CLOCK_MONOTONIC). */
uint64_t hs_own_session_turn(struct hs_own_session *own, uint64_t now_ns);

/* The session is over: looks names up, prints the summary, and gives the file its final name.
 * Returns 0, or -errno after a message. */
int hs_own_session_finish(struct hs_own_session *own);
/* Frees everything; without hs_own_session_finish() there is no file. `why` is the answer to
 * commands that still wait for the end. */
void hs_own_session_close(struct hs_own_session *own, const char *why);
