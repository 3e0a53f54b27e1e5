/*
 * The keeper: a process of the daemon's that holds its descriptors (store.h) and does nothing else.
 *
 *     daemon ──put, remove──► keeper
 *        ✝ killed                │ waits, at SOCKET.keeper
 *     next daemon ──connects────►│ gets all; the keeper is its own from then on
 *              nobody comes ────►  the keeper becomes a last daemon, which finishes all files, and ends
 *
 * It has a name of its own ("heapscope-keep"), so that what kills the daemon by name leaves it, takes no signals
 * but SIGKILL, and listens to nobody but processes of the daemon's user. The daemon's own socket is among what it
 * holds, so programs and commands that come meanwhile wait in its queue.
 *
 * Threads   one.
 * Fails     -errno; without a keeper a daemon that is killed takes all with it.
 */
#pragma once

#include <stdint.h>

#include "daemon/store.h"

#define HS_KEEPER_SUFFIX ".keeper"

/* Of a daemon before us at this path: what it left, and the keeper's connection for our own. -ENOENT: there is no
 * keeper; -EADDRINUSE: its daemon is alive. */
int hs_keeper_meet(const char *path, struct hs_store *ret_store, struct hs_store_items *items);

/* A new one, forked: 0 in the daemon. 1 in the keeper, when its daemon has been dead for so long that nobody is
 * going to come: `items` is what it held, and it is to finish that. */
int hs_keeper_start(const char *path, uint64_t keep_ns, struct hs_store *ret_store,
                    struct hs_store_items *items);
