/*
 * Finds a daemon to announce this process to, when no collector was named.
 *
 * Every program of a machine may have the client preloaded, and most of the time no daemon runs. So
 * the client makes one attempt at each of at most three paths, with two system calls each, before
 * it creates anything. The listening process will be able to write to our memory, so only a daemon
 * of root or of our own user is accepted.
 *
 * The startup hint file beside the daemon's socket (fmt/ctl_layout.h) says whether to record from
 * the first allocation on.
 *
 * Threads   at start, and later for bind.c: one at a time.
 * Fails     false: there is no daemon, and the process goes on unprofiled.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/host/env.h"
#include "fmt/ctl_layout.h"

/* A daemon that was found. */
struct hs_daemon_lookup {
    int sock; /* connected; the caller closes it */
    char path[HS_CTL_PATH_MAX + 1];
    uint64_t startup_interval_bytes; /* 0: wait for a session */
    const char *startup_heaps;       /* which ones, as text of HS_ENV_HEAPS; NULL: all */
};

/* Connects to the first trusted daemon of those that `env` and the defaults name. False: none. */
bool hs_daemon_lookup_find(const struct hs_env *env, struct hs_daemon_lookup *ret_daemon);
