/*
 * Store workers: processes that put snapshots with names into the store
 * (session/snapshot_store.h).
 *
 * A worker is a fork of the daemon, so it has the snapshot in memory while the daemon goes on.
 * First it gives up all rights except those of the user in whose folder the snapshot is stored,
 * and who owns the file: mostly the process's. It stores the snapshot at once, and then again with
 * the names of functions, which take longer to find. So only the time of the first step is
 * critical if the worker is killed; the end of the daemon does not matter to it.
 *
 * At most HS_STORE_WORKERS_ASKED_MAX workers are at the first step for what processes ask for;
 * further processes are told to ask again later. What a killed process leaves is stored as long as
 * there are fewer than HS_STORE_WORKERS_MAX workers. Of the workers that look for names, only as
 * many are at work as of the finalizers.
 *
 * Threads   one.
 * Fails     a snapshot that cannot be stored is logged.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "daemon/event_loop.h"
#include "session/session.h"
#include "session/snapshot_store.h"

#define HS_STORE_WORKERS_MAX       256U
#define HS_STORE_WORKERS_ASKED_MAX 16U

struct hs_store_worker;

/* The daemon's store workers, with what they need of the daemon. The owner sets the first four
 * fields. */
struct hs_store_workers {
    struct hs_event_loop *loop;
    char root[PATH_MAX]; /* the store; "": nothing is stored */
    bool is_system;
    struct hs_store_limits limits;
    struct hs_store_worker *list[HS_STORE_WORKERS_MAX];
    size_t count;
};

/* Is there room for a snapshot that a process asks for? */
bool hs_store_workers_have_room(const struct hs_store_workers *workers);

/* Has a worker store a snapshot of a target for this user, with the settings of the session that
 * recorded it; NULL: none did, the process is bound. */
void hs_store_workers_keep(struct hs_store_workers *workers, const struct hs_session *session,
                           uid_t uid, const struct hs_target *target,
                           const struct hs_snapshot *snap);

/* Closes everything, without waiting for the workers. */
void hs_store_workers_forget_all(struct hs_store_workers *workers);
