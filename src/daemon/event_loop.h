/*
 * The event loop: waits for descriptors to become readable, and calls what the owner of each
 * descriptor wants to have called.
 *
 * An event source is part of the structure that it concerns. A handler may free its own structure
 * and any other one: events are taken from the kernel one at a time.
 *
 * Requires  a source stays at its address from hs_event_loop_add() to hs_event_loop_remove().
 * Threads   one.
 * Fails     -errno.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hs_event_loop {
    int epoll_fd;
};

#define HS_EVENT_LOOP_NONE ((struct hs_event_loop){ .epoll_fd = -1 })

struct hs_event_source {
    /* Called when the descriptor is readable; now_ns is CLOCK_MONOTONIC. NULL: the descriptor ends
     * hs_event_loop_turn(), whose caller looks at it between two turns. */
    void (*handle)(void *of, uint64_t now_ns);
    void *of; /* the structure that the source is a part of */
};

/* Returns 0 or -errno. */
int hs_event_loop_open(struct hs_event_loop *ret_loop);
/* Accepts HS_EVENT_LOOP_NONE. */
void hs_event_loop_close(struct hs_event_loop *loop);

/* Has the source handled when the descriptor is readable. Returns 0 or -errno. */
int hs_event_loop_add(struct hs_event_loop *loop, int fd, struct hs_event_source *source);
/* Ends that; call it before the descriptor is closed. */
void hs_event_loop_remove(struct hs_event_loop *loop, int fd);

/* Waits for an event until `until_ns` (CLOCK_MONOTONIC; UINT64_MAX: without a limit), and handles
 * the events that have come: a bounded number, so that the caller has its turn. May return
 * earlier. */
void hs_event_loop_turn(struct hs_event_loop *loop, uint64_t until_ns);
