/*
 * Talks with a watch worker: see watch_link.h.
 */
#include "watch/receive/watch_link.h"

#include <errno.h>
#include <unistd.h>

#include "ctl/ctl_message.h"

int hs_watch_link_begin(int fd, struct hs_watch_link *ret_link)
{
    *ret_link = (struct hs_watch_link){ .fd = fd };
    int r = hs_watch_state_init(&ret_link->state);
    r = r < 0 ? r : hs_watch_link_ask(ret_link);
    if (r < 0) {
        hs_watch_link_end(ret_link);
    }
    return r;
}

int hs_watch_link_ask(struct hs_watch_link *link)
{
    Hs__Ctl__Next next = HS__CTL__NEXT__INIT;
    if (link->is_asked || link->state.end != HS_WATCH_GOES_ON) {
        return 0;
    }
    int r = hs_ctl_send(link->fd, HS_CTL_NEXT, &next.base, NULL, 0);
    link->is_asked = r == 0;
    return r == -EPIPE ? -ECONNRESET : r;
}

int hs_watch_link_take(struct hs_watch_link *link)
{
    ProtobufCMessage *body;
    int r = hs_ctl_receive_body(link->fd, HS_CTL_UPDATE, &hs__ctl__update__descriptor, &body);
    if (r < 0) {
        return r == -EAGAIN ? 0 : r;
    }
    r = hs_watch_state_apply(&link->state, (const Hs__Ctl__Update *)(const void *)body);
    protobuf_c_message_free_unpacked(body, NULL);
    link->is_asked = false;
    if (r == 0 && link->state.has_more) {
        r = hs_watch_link_ask(link);
    }
    return r < 0 ? r : 1;
}

void hs_watch_link_end(struct hs_watch_link *link)
{
    if (link->fd >= 0) {
        close(link->fd);
        link->fd = -1;
    }
    hs_watch_state_deinit(&link->state);
}
