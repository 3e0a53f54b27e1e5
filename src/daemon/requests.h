/*
 * Requests of commands: hs_request_handle() parses a message and answers it.
 *
 * No field of a request is trusted: texts are cut and checked before they are used, counts are
 * bounded, and descriptors are checked before they are used.
 *
 * Threads   one.
 * Fails     a request that is not allowed or cannot be fulfilled is refused with a message. -errno:
 *           the answer could not be sent or the request is malformed, and the caller drops the
 *           peer.
 */
#pragma once

#include "daemon/peer.h"
#include "session/answers.h"

/* A peer and the daemon that it asks: the context of the functions in a struct hs_recorded. */
struct hs_asking {
    struct hs_daemon *daemon;
    const struct hs_peer *peer;
};

/* Implements session_of of a struct hs_recorded; ctx is a struct hs_asking. */
const char *hs_request_session_of(const void *ctx, const struct hs_target *target);
/* Implements may_see of a struct hs_recorded; ctx is a struct hs_asking. */
bool hs_request_may_see(const void *ctx, const struct hs_target *target);

/* A struct hs_recorded with what this peer may see. */
#define HS_RECORDED_OF(asking)                                                                     \
    {                                                                                              \
        .registry = &(asking)->daemon->hub->registry, .session_of = hs_request_session_of,         \
        .may_see = hs_request_may_see, .ctx = (asking)                                             \
    }

/* Handles one message of a peer, and may take descriptors out of it. Returns 0, or -errno: the
 * caller must drop the peer. */
int hs_request_handle(struct hs_daemon *daemon, struct hs_peer *peer,
                      struct hs_ctl_message *message);

/* In request_start.c: handles `start`. Returns as hs_request_handle() does. */
int hs_request_start(struct hs_daemon *daemon, struct hs_peer *peer,
                     struct hs_ctl_message *message);
/* In request_list.c: handles `list`. Returns as hs_request_handle() does. */
int hs_request_list(struct hs_daemon *daemon, struct hs_peer *peer);
