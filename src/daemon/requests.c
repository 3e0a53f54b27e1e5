/*
 * Which request this is, and those that are short: stop, dump and snapshot. See requests.h.
 */
#include "daemon/requests.h"

#include <errno.h>
#include <string.h>

#include "ctl/ctl.pb-c.h"
#include "daemon/finisher.h"
#include "daemon/order.h"
#include "util/buf.h"

/* --- stop, dump -------------------------------------------------------------------------------- */

/* NULL: there is none, or not just one; the peer has been told. */
static struct hs_order *find_order(struct hs_daemon *daemon, struct hs_peer *peer, const char *name,
                                   int *ret_result)
{
    struct hs_order *found = NULL;
    struct hs_buf others = HS_BUF_INIT;
    size_t count = 0;
    for (size_t i = 0; i < daemon->order_count; i++) {
        struct hs_order *order = daemon->orders[i];
        bool is_meant = name ? strcmp(order->name, name) == 0 : order->state != HS_ORDER_DONE;
        if (!hs_peer_may(daemon, peer, order->uid)) {
            continue;
        }
        if (is_meant) {
            found = order;
            count++;
        }
        if (order->state != HS_ORDER_DONE) {
            hs_buf_printf(&others, " %s", order->name);
        }
    }
    if (count == 0 && name) {
        *ret_result = hs_peer_refuse(peer, "there is no session '%s'; running:%s", name,
                                     others.bytes ? hs_buf_text(&others) : " none");
    } else if (count == 0) {
        *ret_result = hs_peer_refuse(peer, "no session is running");
    } else if (count > 1) {
        *ret_result = hs_peer_refuse(peer, "more than one session is running, name one:%s",
                                     hs_buf_text(&others));
    }
    hs_buf_deinit(&others);
    return count == 1 ? found : NULL;
}

/* Of the session that a request names, or of the only one. NULL: the peer has been told. */
static struct hs_order *take_order(struct hs_daemon *daemon, struct hs_peer *peer,
                                   const char *session, int *ret_result)
{
    const char *name = session && session[0] ? session : NULL;
    if (name && !hs_session_is_name(name)) {
        *ret_result = hs_peer_refuse(peer, "that is no name of a session");
        return NULL;
    }
    return find_order(daemon, peer, name, ret_result);
}

static int stop(struct hs_daemon *daemon, struct hs_peer *peer, const Hs__Ctl__Stop *request)
{
    int r = 0;
    struct hs_order *order = take_order(daemon, peer, request->session, &r);
    if (!order) {
        return r;
    }
    if (order->state == HS_ORDER_DONE) {
        return hs_order_tell(peer, order);
    }
    peer->awaited = order;
    if (order->state == HS_ORDER_RUNNING && !request->is_only_waiting) {
        hs_hub_stop(daemon->hub, order->session, hs_daemon_mono_ns());
    }
    if (order->state == HS_ORDER_FINISHING && request->is_hurried) {
        hs_finisher_hurry(order);
    }
    return 0;
}

static int dump(struct hs_daemon *daemon, struct hs_peer *peer, const Hs__Ctl__Dump *request)
{
    int r = 0;
    struct hs_order *order = take_order(daemon, peer, request->session, &r);
    if (!order) {
        return r;
    }
    if (order->state != HS_ORDER_RUNNING) {
        return hs_peer_refuse(peer, "session %s is over", order->name);
    }
    Hs__Ctl__Dumped dumped = HS__CTL__DUMPED__INIT;
    dumped.has_process_count = true;
    dumped.process_count = hs_hub_target_count(daemon->hub, order->session);
    hs_hub_dump_session(daemon->hub, order->session, hs_daemon_mono_ns());
    return hs_peer_reply(peer, HS_CTL_DUMPED, &dumped.base, NULL, 0);
}

/* --- snapshot ---------------------------------------------------------------------------------- */

const char *hs_request_session_of(const void *ctx, const struct hs_target *target)
{
    const struct hs_session *session = hs_hub_session_of(target);
    (void)ctx;
    return session ? session->settings.name : NULL;
}

bool hs_request_may_see(const void *ctx, const struct hs_target *target)
{
    const struct hs_asking *asking = ctx;
    return hs_order_may_see(asking->daemon, asking->peer, target);
}

static int snapshot(struct hs_daemon *daemon, struct hs_peer *peer,
                    const Hs__Ctl__Snapshot *request)
{
    const struct hs_asking asking = { daemon, peer };
    const struct hs_recorded recorded = HS_RECORDED_OF(&asking);
    return hs_answer_snapshot(&recorded, peer->fd, request, hs_daemon_mono_ns());
}

/* --- all --------------------------------------------------------------------------------------- */

int hs_request_handle(struct hs_daemon *daemon, struct hs_peer *peer,
                      struct hs_ctl_message *message)
{
    const ProtobufCMessageDescriptor *descriptor = NULL;
    if (peer->awaited) {
        return -EPROTO; /* an answer is owed; nobody talks on */
    }
    if (message->kind == HS_CTL_START) {
        return hs_request_start(daemon, peer, message);
    }
    descriptor = message->kind == HS_CTL_STOP       ? &hs__ctl__stop__descriptor
                 : message->kind == HS_CTL_LIST     ? &hs__ctl__list__descriptor
                 : message->kind == HS_CTL_DUMP     ? &hs__ctl__dump__descriptor
                 : message->kind == HS_CTL_SNAPSHOT ? &hs__ctl__snapshot__descriptor
                                                    : NULL;
    ProtobufCMessage *body = descriptor ? hs_ctl_unpack(message, descriptor) : NULL;
    if (!body) {
        return -EPROTO;
    }
    int r = 0;
    if (message->kind == HS_CTL_STOP) {
        r = stop(daemon, peer, (const Hs__Ctl__Stop *)(const void *)body);
    } else if (message->kind == HS_CTL_LIST) {
        r = hs_request_list(daemon, peer);
    } else if (message->kind == HS_CTL_DUMP) {
        r = dump(daemon, peer, (const Hs__Ctl__Dump *)(const void *)body);
    } else {
        r = snapshot(daemon, peer, (const Hs__Ctl__Snapshot *)(const void *)body);
    }
    protobuf_c_message_free_unpacked(body, NULL);
    return r;
}
