/*
 * Endpoints to ask: the daemons and the other commands (run, attach) that may record processes on
 * this machine.
 *
 *     struct hs_endpoints endpoints;
 *     hs_endpoints_find(true, &endpoints);
 *     for (...)
 *         hs_endpoint_ask(&endpoints.items[i], HS_CTL_LIST, &list.base,
 *                         HS_PATIENCE_SHORT_MS, &answer);
 *
 * A command talks only to endpoints of root or of its own user; root talks to all.
 *
 * Threads   main thread only; prints nothing.
 * Fails     -errno; see each function.
 * See       ctl/ctl_socket.h, ctl/ctl_collectors.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "ctl/ctl_collectors.h"
#include "ctl/ctl_message.h"

/* How long to wait for an answer that comes at once, even when many endpoints are asked. */
#define HS_PATIENCE_SHORT_MS   2000
#define HS_PATIENCE_LONG_MS    30000
#define HS_PATIENCE_FOREVER_MS (-1)

struct hs_endpoint {
    bool is_daemon;
    char name[HS_CTL_PATH_MAX + 1]; /* path of a daemon's socket, abstract name of a collector's */
    pid_t pid; /* the process that listens there, after connecting; 0: unknown */
};

struct hs_endpoints {
    struct hs_endpoint items[HS_CTL_COLLECTORS_MAX + 2];
    size_t count;
};

/* True: the user has named one daemon, by HEAPSCOPE_SOCKET. */
bool hs_endpoints_is_one_named(void);

/* Lists the endpoints, daemons first; `is_with_collectors`: other commands, too. Also lists
 * endpoints that do not answer. 0, or -EINVAL: HEAPSCOPE_SOCKET is not the absolute path of a
 * socket. */
int hs_endpoints_find(bool is_with_collectors, struct hs_endpoints *ret_endpoints);

/* Connects, and checks the user of the other side. A descriptor, or -errno; -EACCES: it serves
 * another user, or is in a PID namespace whose processes have no numbers here; -EAGAIN: it takes no
 * connections; -EHOSTDOWN: a daemon that was killed, whose
 * socket is kept for the next one. */
int hs_endpoint_connect(struct hs_endpoint *place);

/* Sends one request, waits for its answer, which may be an error message, and closes the
 * connection. 0 or -errno; -ETIMEDOUT; -EHOSTDOWN: the process that listens ended and had not
 * accepted the connection. */
int hs_endpoint_talk(int sock, enum hs_ctl_kind kind, const ProtobufCMessage *request,
                     const int *fds, size_t fd_count, int patience_ms,
                     struct hs_ctl_message *ret_answer);

/* Connects, and asks without descriptors. */
int hs_endpoint_ask(struct hs_endpoint *place, enum hs_ctl_kind kind,
                    const ProtobufCMessage *request, int patience_ms,
                    struct hs_ctl_message *ret_answer);
