/*
 * The fd holder: a process of the daemon's that holds its descriptors (fdstore.h) and does nothing
 * else.
 *
 *     daemon ──put, remove──► fd holder
 *        ✝ killed                │ waits, at SOCKET.keeper
 *     next daemon ──connects────►│ gives it all descriptors, and holds them for it from then on
 *         none connects ────────►│ becomes a last daemon, which finishes all files, and ends
 *
 * The fd holder has a name of its own ("heapscope-keep"), so that it survives when the daemon is
 * killed by name. It takes no signals but SIGKILL, and accepts only processes of the daemon's user.
 * It also holds the daemon's listening socket, so programs and commands that connect in the
 * meantime wait in its queue.
 *
 * Threads   one.
 * Fails     -errno; without an fd holder, the recordings of a daemon that is killed are lost.
 */
#pragma once

#include <stdint.h>

#include "daemon/handover/fdstore.h"

#define HS_FD_HOLDER_SUFFIX ".keeper"

/* Connects to the fd holder of a previous daemon at this path: `items` gets what that daemon left,
 * and the fd holder is ours from now on. Returns 0, -ENOENT if there is no fd holder, -EADDRINUSE
 * if its daemon is alive, or another -errno. */
int hs_fd_holder_meet(const char *path, struct hs_fdstore *ret_store,
                      struct hs_fdstore_items *items);

/* Forks a new fd holder. Returns 0 or -errno in the daemon. Returns 1 in the fd holder, when its
 * daemon has been dead for `keep_ns` and no other daemon has connected: `items` gets what it held,
 * and it must finish those recordings. */
int hs_fd_holder_start(const char *path, uint64_t keep_ns, struct hs_fdstore *ret_store,
                       struct hs_fdstore_items *items);
