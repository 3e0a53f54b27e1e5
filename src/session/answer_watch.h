/*
 * Answers `watch`: starts a worker that looks at a recorded process for the peer, and gives the
 * peer a connection to it. A peer may watch what it may take snapshots of.
 *
 *     const struct hs_watch_asker asker = { pid, uid, settle, ctx };
 *     hs_answer_watch(&recorded, &watches, &asker, sock, request);
 *     until = hs_answer_watches_turn(&recorded, &watches, now);       in the loop
 *
 * Threads   one.
 * Fails     a request that cannot be answered is refused with a message that says why; -errno: the
 *           answer could not be sent.
 * See       watch/send/watches.h, session/answers.h
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "ctl/ctl.pb-c.h"
#include "session/answers.h"
#include "watch/send/watches.h"

/* Who asks, as the kernel says, and how the worker gives up rights. */
struct hs_watch_asker {
    pid_t pid;
    uid_t uid;
    hs_watch_settle_fn *settle;
    const void *settle_ctx;
};

/* Answers a request to watch. 0, or see Fails. */
int hs_answer_watch(const struct hs_recorded *recorded, struct hs_watches *watches,
                    const struct hs_watch_asker *asker, int sock, const Hs__Ctl__Watch *request);

/* Ends the watches of processes that no session records any more. `recorded` without may_see.
 * Returns as hs_watches_turn() does. */
uint64_t hs_answer_watches_turn(const struct hs_recorded *recorded, struct hs_watches *watches,
                                uint64_t now_ns);

/* Adds to the listing the watches of processes that the peer may see. */
void hs_answer_watches_list(const struct hs_watches *watches, struct hs_listing *listing);
