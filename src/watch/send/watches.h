/*
 * The watches of a collector: who watches which process, and what each of them costs.
 *
 * The collector's loop only starts workers, looks from time to time which of them have ended, and
 * ends those whose process is not recorded any more. It never waits for one.
 *
 * Ensures   at most HS_WATCHES_MAX workers, HS_WATCHES_OF_USER_MAX of one user (root's are not
 *           limited), and each process is watched as often as there are viewers.
 * Threads   one.
 * Fails     -EAGAIN: there are too many; otherwise as watch_worker.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/target.h"
#include "watch/send/watch_worker.h"

#define HS_WATCHES_MAX         64U
#define HS_WATCHES_OF_USER_MAX 16U
#define HS_WATCH_SESSION_BYTES 128U

/* Who asks for what. */
struct hs_watch_order {
    const struct hs_target *target;
    const char *session; /* that records it */
    const char *process; /* its name */
    pid_t viewer_pid;
    uid_t viewer_uid;
    uint32_t asked_ms;
    hs_watch_settle_fn *settle;
    const void *settle_ctx; /* used in the worker only */
};

struct hs_watch {
    struct hs_watch_worker worker;
    pid_t pid;              /* of the process */
    uint64_t start_mono_ns; /* of its image's region */
    char session[HS_WATCH_SESSION_BYTES];
    char process[64];
    pid_t viewer_pid;
    uid_t viewer_uid;
    uint32_t asked_ms;
    uint64_t start_real_ns;
    uint64_t ledger_ns; /* when the ledger was read that the worker got last */
};

/* Zeroed: there is none. */
struct hs_watches {
    struct hs_watch list[HS_WATCHES_MAX];
    size_t count;
    uint64_t look_ns; /* when hs_watches_turn() has something to do */
};

/* What a watch costs. */
struct hs_watch_cost {
    uint64_t cpu_ns; /* of the worker so far; 0: not known */
    uint64_t look_count;
    uint64_t look_cpu_ns; /* of the last look */
    uint32_t interval_ms; /* between the last look and the next one */
    bool is_waiting;      /* the viewer has not asked for an update */
};

/* The image that a watch is about; NULL: no session of this name records it any more. */
typedef const struct hs_target *hs_watch_target_fn(const void *ctx, const struct hs_watch *watch);

/* Starts a worker. *ret_viewer_fd: the connection for the viewer. 0, or see Fails. */
int hs_watches_begin(struct hs_watches *watches, const struct hs_watch_order *order,
                     int *ret_viewer_fd);
/* Forgets watches that have ended, ends those whose process is not there any more, and hands newer
 * ledgers to the workers of viewers that ask. Returns when to call it again (CLOCK_MONOTONIC;
 * UINT64_MAX: there is no watch). */
uint64_t hs_watches_turn(struct hs_watches *watches, hs_watch_target_fn *target_of, const void *ctx,
                         uint64_t now_ns);
/* Has all workers send their last updates and end, without waiting for them. */
void hs_watches_end_all(struct hs_watches *watches);
/* Kills those that have not ended. */
void hs_watches_deinit(struct hs_watches *watches);

/* Reads what a watch costs. */
void hs_watch_read_cost(const struct hs_watch *watch, struct hs_watch_cost *ret_cost);
