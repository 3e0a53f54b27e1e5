/*
 * Places to ask: whoever on this machine may record processes, daemons and other commands (run, attach).
 *
 *     struct hs_endpoints places;
 *     hs_endpoints_find(true, &places);
 *     for (...) hs_endpoint_ask(&places.items[i], HS_CTL_LIST, &list.base, HS_PATIENCE_SHORT_MS, &answer);
 *
 * Only a place of root or of our own user is talked to; root talks to all.
 *
 * Threads   main thread only; nothing is said.
 * Fails     -errno; see each function.
 * See       ctl/ctl_socket.h, ctl/ctl_collectors.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "ctl/ctl_collectors.h"
#include "ctl/ctl_message.h"

/* Of what is answered at once, however many have to be asked. */
#define HS_PATIENCE_SHORT_MS   2000
#define HS_PATIENCE_LONG_MS    30000
#define HS_PATIENCE_FOREVER_MS (-1)

struct hs_endpoint {
    bool is_daemon;
    char name[HS_CTL_PATH_MAX + 1]; /* path of a daemon's socket, abstract name of a collector's */
    pid_t pid;                      /* who listens there, once it was talked to; 0: unknown */
};

struct hs_endpoints {
    struct hs_endpoint items[HS_CTL_COLLECTORS_MAX + 2];
    size_t count;
};

/* Has the user named one daemon, by HEAPSCOPE_SOCKET? */
bool hs_endpoints_is_one_named(void);

/* Daemons first; `is_with_collectors`: other commands, too. Who does not answer is in it as well. -EINVAL: the
 * environment names no absolute path of a socket. */
int hs_endpoints_find(bool is_with_collectors, struct hs_endpoints *ret_places);

/* A connection that has been found worthy. -EACCES: it serves another user; -EAGAIN: it does not take any;
 * -EHOSTDOWN: a daemon that was killed, whose socket is kept for the next one. */
int hs_endpoint_connect(struct hs_endpoint *place);

/* Sends one request, waits for its answer, which may be an error in words, and hangs up. -ETIMEDOUT;
 * -EHOSTDOWN: the process that listens ended and has not accepted the connection. */
int hs_endpoint_talk(int sock, enum hs_ctl_kind kind, const ProtobufCMessage *request,
                     const int *fds, size_t fd_count, int patience_ms,
                     struct hs_ctl_message *ret_answer);

/* Both, without descriptors. */
int hs_endpoint_ask(struct hs_endpoint *place, enum hs_ctl_kind kind,
                    const ProtobufCMessage *request, int patience_ms,
                    struct hs_ctl_message *ret_answer);
