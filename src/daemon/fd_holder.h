/*
 * The fd holder: a process of the daemon's that holds its descriptors (fdstore.h) and does nothing else.
 *
 *     daemon ──put, remove──► fd holder
 *        ✝ killed                │ waits, at SOCKET.fd holder
 *     next daemon ──connects────►│ gets all; the fd holder is its own from then on
 *              nobody comes ────►  the fd holder becomes a last daemon, which finishes all files, and ends
 *
 * It has a name of its own ("heapscope-keep"), so that what kills the daemon by name leaves it, takes no signals
 * but SIGKILL, and listens to nobody but processes of the daemon's user. The daemon's own socket is among what it
 * holds, so programs and commands that come meanwhile wait in its queue.
 *
 * Threads   one.
 * Fails     -errno; without a fd holder a daemon that is killed takes all with it.
 */
#pragma once

#include <stdint.h>

#include "daemon/fdstore.h"

#define HS_FD_HOLDER_SUFFIX ".keeper"

/* Of a daemon before us at this path: what it left, and the fd holder's connection for our own. -ENOENT: there is no
 * fd holder; -EADDRINUSE: its daemon is alive. */
int hs_fd_holder_meet(const char *path, struct hs_fdstore *ret_store,
                      struct hs_fdstore_items *items);

/* A new one, forked: 0 in the daemon. 1 in the fd holder, when its daemon has been dead for so long that nobody is
 * going to come: `items` is what it held, and it is to finish that. */
int hs_fd_holder_start(const char *path, uint64_t keep_ns, struct hs_fdstore *ret_store,
                       struct hs_fdstore_items *items);
