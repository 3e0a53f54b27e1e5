/*
 * The viewer's end of a watch: asks the worker for updates, and takes them in.
 *
 *     struct hs_watch_link link;
 *     hs_watch_link_begin(fd, &link);                  the descriptor that came with Watched
 *     poll link.fd for POLLIN
 *     r = hs_watch_link_take(&link);                   1: the state has changed
 *     ... use link.state; while link.state.has_more, wait for the rest first ...
 *     hs_watch_link_ask(&link);                        the next update may come
 *     hs_watch_link_end(&link);
 *
 * A viewer that does not ask gets no update, and costs nothing.
 *
 * Threads   one.
 * Fails     -ECONNRESET: the worker is gone without a last update; otherwise -errno, also of
 *           watch_state.h.
 * See       ctl/ctl.proto, watch/send/watch_worker.h
 */
#pragma once

#include <stdbool.h>

#include "watch/receive/watch_state.h"

struct hs_watch_link {
    int fd; /* owned; -1: closed */
    struct hs_watch_state state;
    bool is_asked; /* an update is on its way, or comes as soon as something changes */
};

/* Takes over the connection, and asks for the first update. 0 or -errno. */
int hs_watch_link_begin(int fd, struct hs_watch_link *ret_link);
/* Asks for the next update, once for each that has come. 0 or -errno. */
int hs_watch_link_ask(struct hs_watch_link *link);
/* Takes in an update, without waiting. 1: one has come; 0: none; or see Fails. If rows are missing,
 * it asks for them at once. */
int hs_watch_link_take(struct hs_watch_link *link);
/* Ends the watch. Accepts a zeroed link whose fd is -1. */
void hs_watch_link_end(struct hs_watch_link *link);
