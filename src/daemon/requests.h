/*
 * Requests of commands: hs_request_handle() parses a message and answers it.
 *
 * No field of a request is trusted: texts are cut and checked before they are used, counts are
 * bounded, and descriptors are checked before they are used.
 *
 * Threads   one.
 * Fails     a request that is not allowed or cannot be fulfilled is refused with a message. -errno:
 *           the answer could not be sent or the request is malformed, and the peer is dropped.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/access_control.h"
#include "daemon/daemon_socket.h"
#include "daemon/peer.h"
#include "daemon/recording_job.h"
#include "session/answers.h"
#include "session/hub.h"
#include "watch/send/watches.h"

/* What requests use of the daemon, which owns all of it. */
struct hs_requests {
    struct hs_hub *hub;
    struct hs_recording_jobs *jobs;
    const struct hs_access_control *access;
    struct hs_daemon_socket *daemon_socket;
    struct hs_watches *watches;
    bool is_system;
    uid_t uid;
    bool is_stopping; /* no more sessions begin */
    uint64_t start_real_ns;
};

/* Implements session_of of a struct hs_recorded. */
const char *hs_request_session_of(const void *ctx, const struct hs_target *target);
/* Implements may_see of a struct hs_recorded: may this peer see a process, which is one of its
 * user's, or which a session of its user records? ctx is the struct hs_peer. */
bool hs_request_may_see(const void *ctx, const struct hs_target *target);

/* A struct hs_recorded with what this peer may see. */
#define HS_RECORDED_OF(requests, peer)                                                             \
    {                                                                                              \
        .registry = &(requests)->hub->registry, .session_of = hs_request_session_of,               \
        .may_see = hs_request_may_see, .ctx = (peer)                                               \
    }

/* Handles one message of a peer. Has the form of hs_peer_request_fn; ctx is a struct
 * hs_requests. */
int hs_request_handle(void *ctx, struct hs_peer *peer, struct hs_ctl_message *message);

/* Answers the peers that wait for this job, which is done. */
void hs_request_answer_waiting(struct hs_peers *peers, const struct hs_recording_job *job);

/* In request_start.c: handles `start`. Returns as hs_peer_request_fn does. */
int hs_request_start(const struct hs_requests *requests, struct hs_peer *peer,
                     struct hs_ctl_message *message);
/* In request_list.c: handles `list`. Returns as hs_peer_request_fn does. */
int hs_request_list(const struct hs_requests *requests, struct hs_peer *peer);
/* In request_watch.c: handles `watch`. Returns as hs_peer_request_fn does. */
int hs_request_watch(const struct hs_requests *requests, struct hs_peer *peer,
                     const Hs__Ctl__Watch *request);
/* Ends the watches of processes that no session records any more. Returns as hs_watches_turn()
 * does. */
uint64_t hs_request_watches_turn(const struct hs_requests *requests, uint64_t now_ns);
