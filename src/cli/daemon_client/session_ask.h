/*
 * A session that a command asks a daemon for, and the file that it goes to.
 *
 * The command opens the file, with the user's own rights, under a temporary name in its final
 * folder. The daemon gets descriptors of both, and gives the file its name when it is complete. So
 * the session outlives the command.
 *
 *     struct hs_session_ask ask = { .settings = &settings, .name = NULL };
 *     hs_session_ask_open(&ask, path);
 *     hs_session_ask_send(&ask, &answer);              exit status; the answer is a Started
 *     hs_session_ask_close(&ask);
 *
 * Threads   main thread only.
 * Fails     with the exit status, after a message.
 * See       daemon/request_start.c
 */
#pragma once

#include "ctl/ctl_message.h"
#include "session/session.h"
#include "util/outfile.h"

struct Hs__Ctl__Started;

struct hs_session_ask {
    const struct hs_session_settings *settings;
    const char *name; /* of the session; NULL: a number */
    bool is_owned;    /* it ends when no command waits for its end any more */
    struct hs_outfile file;
    int folder_fd;
};

/* Opens the file; settings and name must be set. Returns the exit status. */
int hs_session_ask_open(struct hs_session_ask *ask, const char *path);
/* Sends the request. Bytes that were written to the file before stay in front of the trace. From
 * here on the daemon owns the file. Returns the exit status; the answer is a Started. */
int hs_session_ask_send(struct hs_session_ask *ask, struct hs_ctl_message *ret_answer);
/* Says which of the settings an older daemon ignores, as its answer shows. */
void hs_session_ask_warn(const struct Hs__Ctl__Started *started, bool with_blocks);
/* Closes the descriptors. Without hs_session_ask_send(), it removes the file. */
void hs_session_ask_close(struct hs_session_ask *ask);
