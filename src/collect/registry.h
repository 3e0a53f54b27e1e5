/*
 * The registry: which images announced themselves, and which of them still run.
 *
 * Takes connections and hellos as they come, and watches every process for its end. What is to be
 * done when an image begins or ends is the owner's affair: it gets a call, and closes the target.
 *
 *     hello ──► target ──► (running) ──process ended──────────► on_end ──► forgotten
 *                               └───── hello of the same pid ───► on_end (exec), or forgotten at once
 *                                                                 (forked just before, for that exec)
 *
 * Thousands of short-lived compilers must cost nothing that stays: an image that has ended is handed
 * out and forgotten at once, and what has not been accepted yet waits in the kernel's queue, with
 * its region, however dead its process is. When descriptors run out, accepting waits until some
 * process has ended.
 *
 * Holds     at most one running target for each pid.
 * Threads   one.
 * Fails     a connection or hello that is no good is counted, and closed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/listen.h"
#include "collect/target.h"

#define HS_PENDING_CLIENTS_MAX 64 /* connected, but silent so far */
#define HS_PENDING_CLIENT_FDS  3  /* connection, region, pidfd */

/* The target has ended, and is the callee's to close. */
typedef void hs_registry_end_fn(void *ctx, struct hs_target *target);
/* A new target, which stays the registry's. It may have ended already; on_end follows then. */
typedef void hs_registry_begin_fn(void *ctx, struct hs_target *target);
/* A hello was received; nothing has been done about it yet. */
typedef void hs_registry_pending_fn(void *ctx, const struct hs_pending_client *pending);
/* Likewise, and it waits at the other end of the connection until this returns: fmt/ctl_layout.h. The pending client's flags may
 * be changed. */
typedef void hs_registry_waiting_fn(void *ctx, struct hs_pending_client *pending,
                                    int connection_fd);
/* A connection whose first message, still unread, begins with HS_CTL_MAGIC. The descriptor is the callee's. */
typedef void hs_registry_peer_fn(void *ctx, int connection_fd);

struct hs_registry_config {
    struct hs_listener listener; /* taken over; its fd -1: none, images are only adopted */
    hs_registry_end_fn *on_end;
    hs_registry_pending_fn *on_pending; /* NULL: nobody asks */
    hs_registry_waiting_fn *on_waiting; /* NULL: nobody keeps it waiting */
    hs_registry_begin_fn *on_begin;     /* likewise */
    hs_registry_begin_fn *on_skip;      /* likewise: it is closed, and had no end of its own */
    hs_registry_peer_fn *on_peer;       /* NULL: such a connection is no good */
    void *ctx;
};

struct hs_registry {
    struct hs_listener listener;
    int epoll_fd;
    struct hs_target **targets; /* running */
    size_t target_count;
    size_t target_capacity;
    int pending[HS_PENDING_CLIENTS_MAX]; /* connections without a hello yet; -1: free */
    size_t pending_next;                 /* slot of the next one, modulo their number */
    int room
        [HS_PENDING_CLIENT_FDS]; /* descriptors of nothing, given up to receive a hello; -1: not kept */
    bool is_listening;           /* false: waits for room */
    struct hs_registry_config config;
    uint64_t image_count;      /* hellos accepted */
    uint64_t stranger_count;   /* connections of other users */
    uint64_t unseen_count;     /* processes that ended between connect and hello */
    uint64_t bad_count;        /* hellos and regions that were no good */
    const char *bad_why;       /* of the last one; constant text */
    uint64_t own_malloc_count; /* images whose executable has a malloc of its own */
};

/* With a listener of its own, of a random name. */
int hs_registry_open(struct hs_registry *registry, hs_registry_end_fn *on_end, void *ctx);
int hs_registry_open_with(struct hs_registry *registry, const struct hs_registry_config *config);
/* Closes all targets. Fine on a zeroed struct with epoll_fd -1. */
void hs_registry_close(struct hs_registry *registry);

/* A descriptor that becomes readable when there is something to do. */
static inline int hs_registry_fd(const struct hs_registry *registry)
{
    return registry->epoll_fd;
}

/* Does what there is to do, without waiting; some of it, if there is much. To be called about every
 * second in any case. */
void hs_registry_turn(struct hs_registry *registry, uint64_t now_ns);

/* An image that announces itself otherwise than by a hello: as if the pending client had come through the socket. Takes
 * over its descriptors. -errno: it was no good, see bad_why. */
int hs_registry_restore(struct hs_registry *registry, struct hs_pending_client *pending,
                        uint64_t now_ns);

/* Forgets a running target, and closes it: it is nobody's any more. */
void hs_registry_drop(struct hs_registry *registry, struct hs_target *target);

/* The running target of `pid`, or NULL. */
struct hs_target *hs_registry_find(const struct hs_registry *registry, pid_t pid);

/* Ends the target of `pid`, if there is one, with what is known about its exit. */
void hs_registry_end(struct hs_registry *registry, pid_t pid, uint64_t now_ns,
                     enum hs_exit_kind exit_kind, int exit_value);
