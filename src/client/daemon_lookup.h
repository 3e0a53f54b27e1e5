/*
 * A daemon to announce ourselves to, when no collector was named.
 *
 * Every program of a machine may have us preloaded, and most of the time no daemon runs: so this is one
 * try at each of at most three paths, two system calls each, before anything else is made. Whoever listens
 * there gets to write to our memory, so only root's daemon or one of our own user will do.
 *
 * The board beside its socket (fmt/ctl_layout.h) tells whether to record from the first allocation on.
 *
 * Threads   once, at start.
 * Fails     false: there is no daemon, and the process goes on unprofiled.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/env.h"
#include "fmt/ctl_layout.h"

struct hs_daemon_lookup {
    int sock; /* connected; the caller's to close */
    char path[HS_CTL_PATH_MAX + 1];
    uint64_t startup_interval_bytes; /* 0: wait for a session */
};

bool hs_daemon_lookup_find(const struct hs_env *env, struct hs_daemon_lookup *ret_door);
