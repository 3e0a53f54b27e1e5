/*
 * A session that a command asks a daemon for, and the file it goes to.
 *
 * The file is opened here, with the user's own rights, under a temporary name in the folder where it will be;
 * the daemon gets descriptors of both, and gives it its name when it is whole. So the session outlives us.
 *
 *     struct hs_session_ask ask = { .settings = &settings, .name = NULL };
 *     hs_session_ask_open(&ask, path);
 *     hs_session_ask_send(&ask, &answer);              exit status; the answer is a Started
 *     hs_session_ask_close(&ask);
 *
 * Threads   main thread only.
 * Fails     after saying why.
 * See       daemon/request_start.c
 */
#pragma once

#include "ctl/ctl_message.h"
#include "session/session.h"
#include "util/outfile.h"

struct hs_session_ask {
    const struct hs_session_settings *settings;
    const char *name; /* of the session; NULL: a number */
    bool is_owned;    /* it ends when nobody waits for its end any more */
    struct hs_outfile file;
    int folder_fd;
};

/* Of one whose settings and name are set. Exit status. */
int hs_session_ask_open(struct hs_session_ask *ask, const char *path);
/* What was written to the file before stays in front of the trace. From here on it is the daemon's affair. */
int hs_session_ask_send(struct hs_session_ask *ask, struct hs_ctl_message *ret_answer);
/* Fine on one that was only opened: the file is gone then. */
void hs_session_ask_close(struct hs_session_ask *ask);
