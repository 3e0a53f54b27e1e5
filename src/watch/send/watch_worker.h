/*
 * Watch workers: forked processes, each of which looks at one process for one viewer and sends it
 * what has changed.
 *
 * A worker has the region from the collector that forked it. It reads it and never writes it: it
 * opens no cut, so that neither the program nor the collector has any work with it. It needs no
 * rights: the collector that forks it takes them away first (hs_watch_settle_fn). With those that
 * are left it reads the types of blocks, in the memory of the process (watch_types.h).
 *
 *     viewer  ── Next ──►  worker   the viewer has taken in the last update
 *     viewer ◄── Update ── worker   when something has changed, and the interval is over
 *     worker ◄── ledgers ── collector   as often as the collector reads them anyway
 *
 * Cost. A worker may use HS_WATCH_SHARE of a processor's time: after each look it sleeps until that
 * is true again. It has HS_WATCH_FREE_NS to begin with, and never more in hand. So a region whose
 * look takes 100 ms is looked at every 5 seconds, whatever the viewer asks for. A worker whose
 * viewer does not ask sleeps.
 *
 * End. When the viewer closes the connection, the worker ends at once. When the collector closes
 * its end of the line (the process has ended, or is recorded no more), or has ended itself, the
 * worker sends what has changed until then, marks that update as the last one, and ends.
 *
 * Threads   the caller's. The child is a fork of it and never returns.
 * Fails     -errno of socketpair, mmap and fork.
 * See       ctl/ctl.proto, watch_update.h, docs/adr/0054-watching.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/region/region_reader.h"
#include "collect/typed_records.h"

#define HS_WATCH_SHARE           50U                 /* one part in so many of a processor */
#define HS_WATCH_FREE_NS         UINT64_C(100000000) /* of CPU time */
#define HS_WATCH_INTERVAL_MS     1000U
#define HS_WATCH_INTERVAL_MIN_MS 100U
#define HS_WATCH_INTERVAL_MAX_MS 3600000U
/* How long a worker waits for its viewer to ask for the last update. */
#define HS_WATCH_LAST_MS 5000U

/* In the worker: closes all descriptors but these and 0 to 2, and gives up rights. Returns 0, or
 * -errno: the worker then ends. */
typedef int hs_watch_settle_fn(const void *ctx, const int *fds, size_t count);

struct hs_watch_task {
    const struct hs_region *region;
    pid_t pid;            /* of the process, for its resident memory */
    uint32_t interval_ms; /* that the viewer asks for */
    /* What is known of the types of its blocks; NULL: types are not wanted. */
    const struct hs_typed_records *types;
    hs_watch_settle_fn *settle;
    const void *settle_ctx;
};

/* What the worker tells about itself, in a page that it shares with the collector. Each word is
 * loaded once. */
struct hs_watch_page {
    uint64_t look_count;
    uint64_t look_cpu_ns; /* of the last look, with the update that it led to */
    uint64_t interval_ms; /* between the last look and the next one */
    uint64_t is_waiting;  /* 1: the viewer has not asked for an update */
};

/* A worker, as the collector sees it. */
struct hs_watch_worker {
    pid_t pid;
    int line_fd; /* closing it ends the worker; -1: it is to end */
    struct hs_watch_page *page;
};

/* The interval that is used for one that was asked for; 0: none was. */
uint32_t hs_watch_interval_ms(uint32_t asked_ms);

/* Forks a worker. *ret_viewer_fd: the connection for the viewer. 0, or see Fails. */
int hs_watch_worker_start(const struct hs_watch_task *task, struct hs_watch_worker *ret_worker,
                          int *ret_viewer_fd);
/* Has the worker send its last update and end. */
void hs_watch_worker_end(struct hs_watch_worker *worker);
/* Has the worker ended? Then nothing of it is left. */
bool hs_watch_worker_reap(struct hs_watch_worker *worker);
/* Kills a worker that has not ended, and frees what the collector has of it. */
void hs_watch_worker_kill(struct hs_watch_worker *worker);
