/*
 * What commands ask for: one function takes a message apart, and answers it.
 *
 * Every field is foreign: texts are cut and checked before they are used, counts are bounded, descriptors are
 * looked at before they are believed.
 *
 * Threads   one.
 * Fails     what a peer may not have, or cannot be, is told to him. -errno: he cannot be told, and is dropped.
 */
#pragma once

#include "daemon/peer.h"
#include "session/answers.h"

/* Who asks whom, and what of the registry he is told. */
struct hs_asking {
    struct hs_daemon *daemon;
    const struct hs_peer *peer;
};

const char *hs_request_session_of(const void *ctx, const struct hs_target *target);
bool hs_request_may_see(const void *ctx, const struct hs_target *target);

#define HS_RECORDED_OF(asking)                                                                     \
    {                                                                                              \
        .registry = &(asking)->daemon->hub->registry, .session_of = hs_request_session_of,         \
        .may_see = hs_request_may_see, .ctx = (asking)                                             \
    }

int hs_request_handle(struct hs_daemon *daemon, struct hs_peer *peer,
                      struct hs_ctl_message *message);

/* request_start.c, request_list.c */
int hs_request_start(struct hs_daemon *daemon, struct hs_peer *peer,
                     struct hs_ctl_message *message);
int hs_request_list(struct hs_daemon *daemon, struct hs_peer *peer);
