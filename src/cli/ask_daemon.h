/*
 * Asking a daemon: finds it, sends one request, waits for the answer, and says in words what went wrong.
 *
 *     struct hs_ctl_message answer;
 *     int status = hs_ask_daemon(HS_CTL_LIST, &list.base, NULL, 0, HS_ASK_SOON, &answer);
 *     if (status != HS_EXIT_STATUS_DONE) {
 *         return status;
 *     }
 *
 * Only a daemon of root or of the same user is talked to: it gets descriptors of ours.
 *
 * Threads   main thread only.
 */
#pragma once

#include "ctl/ctl_message.h"

enum hs_ask_patience {
    HS_ASK_SOON,    /* what takes longer than half a minute has failed */
    HS_ASK_FOREVER, /* it takes as long as it takes */
};

/* 0 with the answer of the right kind, to be freed; else the exit status, after having said why. */
int hs_ask_daemon(enum hs_ctl_kind kind, const ProtobufCMessage *request, const int *fds,
                  size_t fd_count, enum hs_ask_patience patience,
                  struct hs_ctl_message *ret_answer);

/* Would one answer? Else -errno, as below. */
int hs_ask_is_daemon_there(char *ret_path);
/* A connection to it, or -errno: why nobody answers at the first place where it would be. Nothing is said. */
int hs_ask_find_daemon(
    char *ret_path /* HS_CTL_PATH_MAX + 1; "": the environment names no socket */);

/* What others that ask have to say as well: that the environment names no socket; that nobody answers at a path;
 * and what became of asking `who`, 0 or -errno. Each returns the exit status. */
int hs_ask_say_bad_socket(void);
int hs_ask_say_nobody(const char *path, int error);
int hs_ask_take(int r, enum hs_ctl_kind kind, struct hs_ctl_message *answer, const char *who,
                struct hs_ctl_message *ret_answer);

/* Opens an answer, has `say` tell what is in it, and frees it. The exit status is that of `say`; a body that is no such
 * message is said, and is a failure. */
int hs_ask_open(struct hs_ctl_message *answer, const ProtobufCMessageDescriptor *kind,
                int (*say)(void *ctx, const ProtobufCMessage *body), void *ctx);
