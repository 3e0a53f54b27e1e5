/*
 * Which request this is, and those that are short: stop and snapshot. See requests.h.
 */
#include "daemon/requests.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ctl/ctl.pb-c.h"
#include "daemon/order.h"
#include "util/buf.h"

#define HS_CANDIDATES_TOLD 20

/* --- stop -------------------------------------------------------------------------------------- */

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

static int stop(struct hs_daemon *daemon, struct hs_peer *peer, const Hs__Ctl__Stop *request)
{
    int r = 0;
    const char *name = request->session && request->session[0] ? request->session : NULL;
    if (name && !hs_session_is_name(name)) {
        return hs_peer_refuse(peer, "that is no name of a session");
    }
    struct hs_order *order = find_order(daemon, peer, name, &r);
    if (!order) {
        return r;
    }
    if (order->state == HS_ORDER_DONE) {
        return hs_order_tell(peer, order);
    }
    peer->awaited = order;
    if (order->state == HS_ORDER_RUNNING) {
        hs_hub_stop(daemon->hub, order->session, hs_daemon_mono_ns());
    }
    return 0;
}

/* --- snapshot ---------------------------------------------------------------------------------- */

struct choice {
    struct hs_target *target; /* the last that fits */
    char process[64];
    size_t count;
    bool has_client; /* of the pid that was named: it is there, but not recorded */
    struct hs_buf candidates;
};

static void consider(struct hs_daemon *daemon, const struct hs_peer *peer,
                     const Hs__Ctl__Snapshot *request, struct hs_target *target,
                     struct choice *choice)
{
    struct hs_process_facts facts;
    bool by_pid = request->has_pid && request->pid != 0;
    if (target->has_ended || !hs_order_may_see(daemon, peer, target) ||
        (by_pid && target->pid != (pid_t)request->pid)) {
        return;
    }
    choice->has_client = true;
    if (!target->owner) {
        return;
    }
    hs_process_facts_of_target(target, &facts);
    if (request->name && !hs_match_name(request->name, &facts.facts)) {
        return;
    }
    choice->target = target;
    hs_match_display(&facts.facts, choice->process, sizeof(choice->process));
    if (choice->count++ < HS_CANDIDATES_TOLD) {
        hs_buf_printf(&choice->candidates, "\n  %d %s", (int)target->pid, choice->process);
    }
}

static int refuse_choice(struct hs_peer *peer, const Hs__Ctl__Snapshot *request,
                         struct choice *choice)
{
    bool by_pid = request->has_pid && request->pid != 0;
    if (choice->count > 1) {
        return hs_peer_refuse(peer, "%zu processes are recorded; name one with -p PID:%s%s",
                              choice->count, hs_buf_text(&choice->candidates),
                              choice->count > HS_CANDIDATES_TOLD ? "\n  ..." : "");
    }
    if (by_pid) {
        return hs_peer_refuse(peer,
                              choice->has_client
                                  ? "process %u is not recorded by any session; begin one with "
                                    "'heapscope start -p %u'"
                                  : "process %u has not announced itself to the daemon; "
                                    "'heapscope list' shows those that have",
                              request->pid, request->pid);
    }
    if (request->name) {
        return hs_peer_refuse(peer, "no process named '%.200s' is recorded by a session",
                              request->name);
    }
    return hs_peer_refuse(peer, "no process is recorded; begin a session with 'heapscope start'");
}

static int send_snapshot(struct hs_daemon *daemon, struct hs_peer *peer, struct choice *choice)
{
    Hs__Ctl__Snapped snapped = HS__CTL__SNAPPED__INIT;
    struct hs_session *session = hs_hub_session_of(choice->target);
    int fd = memfd_create("heapscope-snapshot", MFD_CLOEXEC);
    int r = fd >= 0 ? 0 : -errno;
    if (r == 0) {
        r = hs_hub_snapshot(daemon->hub, choice->target, hs_daemon_mono_ns(), hs_trace_write_fd,
                            (void *)(intptr_t)fd);
    }
    if (r < 0) {
        r = hs_peer_refuse(peer, "process %d (%s) could not be read: %s", (int)choice->target->pid,
                           choice->process, strerror(-r));
    } else {
        snapped.has_pid = true;
        snapped.pid = (uint32_t)choice->target->pid;
        snapped.process = choice->process;
        snapped.session = session->settings.name;
        r = hs_peer_reply(peer, HS_CTL_SNAPPED, &snapped.base, &fd, 1);
    }
    if (fd >= 0) {
        close(fd);
    }
    return r;
}

static int snapshot(struct hs_daemon *daemon, struct hs_peer *peer,
                    const Hs__Ctl__Snapshot *request)
{
    struct choice choice = { 0 };
    for (size_t i = 0; i < daemon->hub->registry.target_count; i++) {
        consider(daemon, peer, request, daemon->hub->registry.targets[i], &choice);
    }
    int r = choice.count == 1 ? send_snapshot(daemon, peer, &choice)
                              : refuse_choice(peer, request, &choice);
    hs_buf_deinit(&choice.candidates);
    return r;
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
    } else {
        r = snapshot(daemon, peer, (const Hs__Ctl__Snapshot *)(const void *)body);
    }
    protobuf_c_message_free_unpacked(body, NULL);
    return r;
}
