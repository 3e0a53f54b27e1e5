/*
 * Handles `watch`: a worker, with the rights of the peer, looks at a recorded process. See
 * requests.h.
 */
#include "daemon/requests.h"

#include "daemon/worker_process.h"
#include "session/answer_watch.h"

/* In the worker, which needs no rights: it has the region. */
static int settle(const void *ctx, const int *fds, size_t count)
{
    const struct hs_peer *peer = ctx;
    hs_worker_process_settle(fds, count);
    return hs_worker_process_keep_rights(&peer->rights);
}

int hs_request_watch(const struct hs_requests *requests, struct hs_peer *peer,
                     const Hs__Ctl__Watch *request)
{
    const struct hs_recorded recorded = HS_RECORDED_OF(requests, peer);
    const struct hs_watch_asker asker = {
        .pid = peer->pid, .uid = peer->rights.uid, .settle = settle, .settle_ctx = peer
    };
    return hs_answer_watch(&recorded, requests->watches, &asker, peer->fd, request);
}

uint64_t hs_request_watches_turn(const struct hs_requests *requests, uint64_t now_ns)
{
    const struct hs_recorded recorded = HS_RECORDED_OF(requests, NULL);
    return hs_answer_watches_turn(&recorded, requests->watches, now_ns);
}
