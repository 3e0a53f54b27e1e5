/*
 * Asking a daemon: finds it, sends one request, waits for the answer, and prints what went wrong.
 *
 *     struct hs_ctl_message answer;
 *     int status = hs_ask_daemon(HS_CTL_LIST, &list.base, NULL, 0, HS_ASK_SOON, &answer);
 *     if (status != HS_EXIT_STATUS_DONE) {
 *         return status;
 *     }
 *
 * A command talks only to a daemon of root or of its own user, because the daemon gets descriptors
 * of the command.
 *
 * Threads   main thread only.
 */
#pragma once

#include "ctl/ctl_message.h"

enum hs_ask_patience {
    HS_ASK_SOON,    /* an answer that takes longer than half a minute is a failure */
    HS_ASK_FOREVER, /* wait without a limit */
};

/* Sends `request` and waits for its answer. 0 with an answer of the right kind, which the caller
 * frees; else the exit status, after a message. */
int hs_ask_daemon(enum hs_ctl_kind kind, const ProtobufCMessage *request, const int *fds,
                  size_t fd_count, enum hs_ask_patience patience,
                  struct hs_ctl_message *ret_answer);

/* 0: a daemon would answer; else -errno, as hs_ask_find_daemon() returns it. */
int hs_ask_is_daemon_there(char *ret_path);
/* A connection to a daemon, or -errno: why no daemon answers at the first path that was tried.
 * Prints nothing. */
int hs_ask_find_daemon(
    char *ret_path /* HS_CTL_PATH_MAX + 1; "": the environment names no socket */);

/* Prints that HEAPSCOPE_SOCKET is not the path of a socket. Returns the exit status. */
int hs_ask_say_bad_socket(void);

/* Prints why no daemon answers at `path`, by the -errno of connecting. Returns the exit status. */
int hs_ask_say_nobody(const char *path, int error);

/* Takes `r`, 0 or -errno of asking `peer_name`, and the answer: 0 with an answer of the kind that
 * belongs to request `kind`, else the exit status, after a message. */
int hs_ask_take(int r, enum hs_ctl_kind kind, struct hs_ctl_message *answer, const char *peer_name,
                struct hs_ctl_message *ret_answer);

/* Unpacks an answer, calls `say` with it, and frees it. Returns the exit status of `say`; a body
 * that is no message of this kind is a failure, after a message. */
int hs_ask_open(struct hs_ctl_message *answer, const ProtobufCMessageDescriptor *kind,
                int (*say)(void *ctx, const ProtobufCMessage *body), void *ctx);
