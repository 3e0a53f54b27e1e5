/*
 * The registry: which images have announced themselves, and which of them still run.
 *
 * It takes connections and hellos as they come, and watches every process for its end. Its owner
 * decides what happens when an image begins or ends: the owner gets a call, and closes the target.
 *
 *     hello ──► target ──► (running) ──process ended─────────► on_end ──► forgotten
 *                              └───── hello of the same pid ──► on_end (exec); on_skip, if it was
 *                                                               forked just before, for that exec
 *
 * Thousands of short-lived compiler processes must not leave anything behind: an image that has
 * ended is handed to the owner and forgotten at once. A connection that has not been accepted yet
 * waits in the kernel's queue, together with its region, even if its process is dead. When
 * descriptors run out, accepting waits until some process has ended.
 *
 * Holds     at most one running target for each pid.
 * Threads   one.
 * Fails     an invalid connection or hello is counted and closed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/listen.h"
#include "collect/target.h"

#define HS_SILENT_CONNECTIONS_MAX 64 /* connections that have sent nothing yet */
#define HS_PENDING_CLIENT_FDS     4  /* connection, region (opened twice for a moment), pidfd */

/* The target has ended; the callee closes it. */
typedef void hs_registry_end_fn(void *ctx, struct hs_target *target);
/* There is a new target, which the registry keeps. It may have ended already; on_end follows
 * then. */
typedef void hs_registry_begin_fn(void *ctx, struct hs_target *target);
/* A hello has arrived; nothing has been done about it yet. */
typedef void hs_registry_pending_fn(void *ctx, const struct hs_pending_client *pending);
/* The same for a client that waits at the other end of the connection until this returns: see
 * fmt/ctl_layout.h. The callee may change the pending client's flags. */
typedef void hs_registry_waiting_fn(void *ctx, struct hs_pending_client *pending,
                                    int connection_fd);
/* A connection whose first message, still unread, begins with HS_CTL_MAGIC. The callee owns the
 * descriptor. */
typedef void hs_registry_peer_fn(void *ctx, int connection_fd);

struct hs_named_request;
/* A target asks for a named snapshot of itself. The callee answers the request, as long as the call
 * lasts. `target` NULL: a process that is none; its hello may be on its way. */
typedef void hs_registry_named_fn(void *ctx, struct hs_target *target,
                                  const struct hs_named_request *request);

struct hs_registry_config {
    /* the registry takes it over; fd -1: none, images come only through hs_registry_take() */
    struct hs_listener listener;
    hs_registry_end_fn *on_end;
    hs_registry_pending_fn *on_pending; /* NULL: not called */
    hs_registry_waiting_fn *on_waiting; /* NULL: the client does not wait for it */
    hs_registry_begin_fn *on_begin;     /* NULL: not called */
    /* NULL: not called; the target is closed afterwards, without an on_end */
    hs_registry_begin_fn *on_skip;
    hs_registry_peer_fn *on_peer;   /* NULL: such connections are rejected */
    hs_registry_named_fn *on_named; /* NULL: such connections are rejected */
    /* Also takes images of processes that cannot be seen from here: those of another PID namespace.
     * Their ends remain unknown. */
    bool is_taking_hidden;
    void *ctx;
};

struct hs_registry {
    struct hs_listener listener;
    int epoll_fd;
    struct hs_target **targets; /* the running targets */
    size_t target_count;
    size_t target_capacity;
    /* connections that have sent nothing yet; -1: free */
    int silent_fds[HS_SILENT_CONNECTIONS_MAX];
    size_t silent_next; /* slot of the next one, modulo HS_SILENT_CONNECTIONS_MAX */
    /* reserve descriptors, closed to make room for those of a hello; -1: not held */
    int room[HS_PENDING_CLIENT_FDS];
    bool is_listening; /* false: it waits for free descriptors */
    struct hs_registry_config config;
    uint64_t image_count;      /* accepted hellos */
    uint64_t stranger_count;   /* connections of other users */
    uint64_t unseen_count;     /* processes that ended between connect and hello */
    uint64_t bad_count;        /* invalid hellos and regions */
    const char *bad_why;       /* the reason of the last one, a constant text */
    uint64_t own_malloc_count; /* images whose executable has a malloc of its own */
};

/* Opens a registry with config->listener. 0 or -errno. */
int hs_registry_open_with(struct hs_registry *registry, const struct hs_registry_config *config);
/* Closes all targets and the listener. A zeroed struct with epoll_fd -1 is allowed. */
void hs_registry_close(struct hs_registry *registry);

/* A descriptor that becomes readable when hs_registry_turn has something to do. */
static inline int hs_registry_fd(const struct hs_registry *registry)
{
    return registry->epoll_fd;
}

/* Handles what has happened, without waiting, and at most a bounded part of it. The owner calls
 * this about every second in any case. */
void hs_registry_turn(struct hs_registry *registry, uint64_t now_ns);

/* Adds an image that did not announce itself by a hello, as if the pending client had come through
 * the socket. Takes over its descriptors. 0, or -errno: it was invalid, see bad_why. */
int hs_registry_take(struct hs_registry *registry, struct hs_pending_client *pending,
                     uint64_t now_ns);

/* Forgets a running target, and closes it, without a call of on_end. */
void hs_registry_drop(struct hs_registry *registry, struct hs_target *target);

/* The running target of `pid`, or NULL. */
struct hs_target *hs_registry_find(const struct hs_registry *registry, pid_t pid);

/* Ends the target of `pid`, if there is one, with what is known about its exit. */
void hs_registry_end(struct hs_registry *registry, pid_t pid, uint64_t now_ns,
                     enum hs_exit_kind exit_kind, int exit_value);
