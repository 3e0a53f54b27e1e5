/*
 * Finds the collector for our region: the one that our environment names, or a daemon. Also finds
 * the interval with which recording begins, or that it waits for a session. Hands the region to
 * that collector.
 *
 * Threads   once, at start.
 * Fails     false, or -errno: there is no collector, and the process goes on unprofiled.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/host/env.h"
#include "client/life/daemon_lookup.h"

/* The collector of a region. */
struct hs_collector_connect {
    const char *name;        /* of its socket, as hs_register_connect expects it */
    int sock;                /* the connection; -1: not connected yet */
    bool is_late;            /* it attached to a process that was already running */
    uint64_t interval_bytes; /* HS_INTERVAL_OFF: wait for a session */
    const char *heaps;       /* as text of HS_ENV_HEAPS; NULL: as the environment says */
    struct hs_daemon_lookup daemon;
};

/* Finds the collector. False: there is none, or the environment forbids it. */
bool hs_collector_connect_find(const struct hs_env *env,
                               struct hs_collector_connect *ret_collector);

/* Hands the region to the collector; `fd` stays the caller's. 0 or -errno. If the collector can
 * redirect an allocator in the executable, it has done so when this returns, or never will. */
int hs_collector_connect_announce(struct hs_collector_connect *collector, int fd);

/* Closes the connection. */
void hs_collector_connect_leave(const struct hs_collector_connect *collector);
