/*
 * Who wants our region, and how recording is to begin: a collector that our environment names, or a daemon.
 *
 * Threads   once, at start.
 * Fails     false, or -errno: nobody does, and the process goes on unprofiled.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/daemon_lookup.h"
#include "client/env.h"

struct hs_collector_connect {
    const char *name;        /* of its socket, as hs_register_connect wants it */
    int sock;                /* connected already; -1: not */
    bool is_late;            /* it came to a process that runs already */
    uint64_t interval_bytes; /* HS_INTERVAL_OFF: to wait for a session */
    struct hs_daemon_lookup door;
};

bool hs_collector_connect_find(const struct hs_env *env, struct hs_collector_connect *ret_caller);

/* Hands it the region; `fd` stays ours. Where it can help us to see an allocator in the executable, that has happened
 * when this returns, or will not. */
int hs_collector_connect_announce(struct hs_collector_connect *caller, int fd);

void hs_collector_connect_leave(const struct hs_collector_connect *caller);
