/*
 * Orders: see order.h.
 */
#include "daemon/order.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl/ctl.pb-c.h"
#include "daemon/daemon_log.h"
#include "daemon/finisher.h"
#include "daemon/heritage.h"
#include "daemon/peer.h"
#include "daemon/start_settings.h"

#define HS_ORDERS_OF_USER_MAX 128 /* not done */
#define HS_ORDERS_DONE_MAX    16
/* A command looks for a daemon that was started again for 10 seconds. */
#define HS_OWNER_COMES_NS UINT64_C(15000000000)
/* A command that was killed between two connections is not waited for. */
#define HS_OWNER_LOOK_NS UINT64_C(100000000)
/* A command that asks for the end comes by a new connection before it closes the old one; they may be seen in any order. */
#define HS_OWNER_MISSED_NS UINT64_C(1000000000)

/* --- life -------------------------------------------------------------------------------------- */

struct hs_order *hs_order_new(uid_t uid, gid_t gid, const gid_t *groups, size_t group_count)
{
    struct hs_order *order = calloc(1, sizeof(*order));
    if (!order) {
        return NULL;
    }
    order->file_fd = order->folder_fd = order->result_fd = order->about_fd = order->owner_fd = -1;
    order->uid = uid;
    order->gid = gid;
    order->groups = malloc((group_count + 1) * sizeof(gid_t));
    if (!order->groups) {
        return hs_order_free(order);
    }
    memcpy(order->groups, groups, group_count * sizeof(gid_t));
    order->groups[group_count] = gid;
    order->group_count = group_count;
    order->start_real_ns = hs_daemon_real_ns();
    return order;
}

static void close_files(struct hs_order *order)
{
    int *const fds[] = { &order->file_fd, &order->folder_fd, &order->result_fd, &order->about_fd,
                         &order->owner_fd };
    for (size_t i = 0; i < HS_COUNT_OF(fds); i++) {
        if (*fds[i] >= 0) {
            close(*fds[i]);
            *fds[i] = -1;
        }
    }
}

struct hs_order *hs_order_free(struct hs_order *order)
{
    if (order) {
        close_files(order);
        hs_session_free(order->session);
        hs_session_settings_deinit(&order->settings);
        free(order->groups);
        free(order->temp_name);
        free(order->final_name);
        free(order->path);
        free(order);
    }
    return NULL;
}

bool hs_order_name_file(struct hs_order *order, const Hs__Ctl__Start *request)
{
    if (!hs_start_is_file_name(request->temp_name) || !hs_start_is_file_name(request->final_name) ||
        !request->path || strlen(request->path) >= PATH_MAX) {
        return false;
    }
    order->temp_name = strdup(request->temp_name);
    order->final_name = strdup(request->final_name);
    order->path = strdup(request->path);
    for (char *c = order->path; c && *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 127) {
            *c = '?'; /* it goes to logs and terminals, and nowhere else */
        }
    }
    return order->temp_name && order->final_name && order->path;
}

/* --- the list ---------------------------------------------------------------------------------- */

static void take_out(struct hs_daemon *daemon, const struct hs_order *order)
{
    for (size_t i = 0; i < daemon->order_count; i++) {
        if (daemon->orders[i] == order) {
            daemon->order_count--;
            memmove(daemon->orders + i, daemon->orders + i + 1,
                    (daemon->order_count - i) * sizeof(daemon->orders[0]));
            return;
        }
    }
}

static void forget_old(struct hs_daemon *daemon, size_t done_max)
{
    size_t done_count = 0;
    for (size_t i = daemon->order_count; i > 0; i--) {
        struct hs_order *order = daemon->orders[i - 1];
        done_count += order->state == HS_ORDER_DONE;
        if (order->state == HS_ORDER_DONE && done_count > done_max) {
            hs_order_remove(daemon, order);
        }
    }
}

static size_t count_of_user(const struct hs_daemon *daemon, uid_t uid)
{
    size_t count = 0;
    for (size_t i = 0; i < daemon->order_count; i++) {
        const struct hs_order *order = daemon->orders[i];
        count += order->uid == uid && order->state != HS_ORDER_DONE;
    }
    return count;
}

static struct hs_order *find(const struct hs_daemon *daemon, const char *name)
{
    for (size_t i = 0; i < daemon->order_count; i++) {
        if (strcmp(daemon->orders[i]->name, name) == 0) {
            return daemon->orders[i];
        }
    }
    return NULL;
}

struct hs_order *hs_order_find(const struct hs_daemon *daemon, uint64_t number)
{
    for (size_t i = 0; i < daemon->order_count; i++) {
        if (daemon->orders[i]->number == number) {
            return daemon->orders[i];
        }
    }
    return NULL;
}

int hs_order_add(struct hs_daemon *daemon, struct hs_order *order)
{
    forget_old(daemon, HS_ORDERS_DONE_MAX);
    if (daemon->order_count == HS_ORDERS_MAX ||
        (order->uid != 0 && count_of_user(daemon, order->uid) >= HS_ORDERS_OF_USER_MAX)) {
        return -E2BIG;
    }
    if (order->name[0]) {
        struct hs_order *known = find(daemon, order->name);
        if (known && (known->state != HS_ORDER_DONE || known->uid != order->uid)) {
            return -EEXIST;
        }
        if (known) {
            hs_order_remove(daemon, known); /* an old one: the name means the new one now */
        }
    }
    while (!order->name[0] || find(daemon, order->name)) {
        snprintf(order->name, sizeof(order->name), "%llu",
                 (unsigned long long)daemon->next_order++);
    }
    if (order->number == 0) {
        order->number = ++daemon->order_number;
    } else if (order->number > daemon->order_number) {
        daemon->order_number = order->number;
    }
    daemon->orders[daemon->order_count++] = order;
    return 0;
}

void hs_order_remove(struct hs_daemon *daemon, struct hs_order *order)
{
    take_out(daemon, order);
    hs_order_free(order);
}

void hs_orders_free(struct hs_daemon *daemon)
{
    while (daemon->order_count > 0) {
        hs_order_remove(daemon, daemon->orders[0]);
    }
}

size_t hs_orders_finishing(const struct hs_daemon *daemon)
{
    size_t count = 0;
    for (size_t i = 0; i < daemon->order_count; i++) {
        count += daemon->orders[i]->state == HS_ORDER_FINISHING;
    }
    return count;
}

bool hs_order_may_see(const struct hs_daemon *daemon, const struct hs_peer *peer,
                      const struct hs_target *target)
{
    const struct hs_session *session = hs_hub_session_of(target);
    const struct hs_order *order = session ? session->owner : NULL;
    return hs_peer_may(daemon, peer, target->uid) || (order && order->uid == peer->uid);
}

/* --- the command that it belongs to -------------------------------------------------------------- */

void hs_order_expect_owner(struct hs_order *order, pid_t pid, uint64_t now_ns)
{
    order->is_owned = true;
    order->alone_until_ns = now_ns + HS_OWNER_COMES_NS;
    if (pid > 0) {
        order->owner_fd = (int)syscall(SYS_pidfd_open, pid, 0);
        /* ESRCH, or EINVAL from some kernels: it has ended, and was waited for. */
        bool is_gone = order->owner_fd < 0 && (errno == ESRCH || errno == EINVAL);
        order->alone_until_ns = is_gone ? now_ns : order->alone_until_ns;
    }
}

void hs_order_miss_owner(struct hs_order *order, uint64_t now_ns)
{
    order->alone_until_ns = now_ns + HS_OWNER_MISSED_NS;
}

static bool is_left(const struct hs_daemon *daemon, const struct hs_order *order)
{
    bool is_left = order->is_owned && order->state == HS_ORDER_RUNNING;
    for (size_t i = 0; is_left && i < daemon->peer_count; i++) {
        is_left = daemon->peers[i]->awaited != order;
    }
    return is_left;
}

static bool has_owner_ended(const struct hs_order *order)
{
    struct pollfd fd = { .fd = order->owner_fd, .events = POLLIN };
    return order->owner_fd >= 0 && poll(&fd, 1, 0) > 0;
}

uint64_t hs_orders_end_left(struct hs_daemon *daemon, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = 0; i < daemon->order_count;) {
        struct hs_order *order = daemon->orders[i];
        i++;
        if (!is_left(daemon, order)) {
            continue;
        }
        if (now_ns < order->alone_until_ns && !has_owner_ended(order)) {
            uint64_t look_ns = now_ns + HS_OWNER_LOOK_NS;
            next_ns = look_ns < next_ns ? look_ns : next_ns;
        } else {
            hs_daemon_log("session %s ends: the command that asked for it is gone", order->name);
            hs_hub_stop(daemon->hub, order->session, now_ns);
            i = 0; /* the list may have changed; this one runs no longer */
        }
    }
    return next_ns;
}

/* --- the end ----------------------------------------------------------------------------------- */

#define NOTHING_RECORDED                                                                           \
    "no process was recorded: none that the session means was there long enough to be noticed. "   \
    "Names are compared with the program's, without its folder: 'ps -eo pid,args' shows them"

const char *hs_order_why(const struct hs_order *order)
{
    int error = order->result.error;
    if (error == -ENODATA) {
        return order->note[0] ? order->note : NOTHING_RECORDED;
    }
    return error ? strerror(-error) : NULL;
}

int hs_order_tell(struct hs_peer *peer, const struct hs_order *order)
{
    Hs__Ctl__Stopped stopped = HS__CTL__STOPPED__INIT;
    stopped.session = (char *)(uintptr_t)order->name;
    stopped.path = order->path;
    stopped.has_file_bytes = stopped.has_process_count = stopped.has_dump_count =
        stopped.has_rejected_count = true;
    stopped.file_bytes = order->result.file_bytes;
    stopped.process_count = order->process_count;
    stopped.dump_count = order->dump_count;
    stopped.rejected_count = order->rejected_count;
    stopped.error = (char *)(uintptr_t)hs_order_why(order);
    stopped.note = order->note[0] ? (char *)(uintptr_t)order->note : NULL;
    return hs_peer_reply(peer, HS_CTL_STOPPED, &stopped.base, NULL, 0);
}

static void be_done(struct hs_daemon *daemon, struct hs_order *order)
{
    hs_heritage_drop_order(daemon, order);
    close_files(order);
    order->state = HS_ORDER_DONE;
    if (order->result.error) {
        hs_daemon_log("session %s is over without a file %s: %s", order->name, order->path,
                      hs_order_why(order));
    } else {
        hs_daemon_log("session %s is over: %s", order->name, order->path);
    }
    for (size_t i = daemon->peer_count; i > 0; i--) {
        struct hs_peer *peer = daemon->peers[i - 1];
        if (peer->awaited == order) {
            peer->awaited = NULL;
            peer->heard_ns = hs_daemon_mono_ns();
            if (hs_order_tell(peer, order) < 0) {
                hs_peer_drop(daemon, peer);
            }
        }
    }
    forget_old(daemon, HS_ORDERS_DONE_MAX);
}

static void on_result(struct hs_daemon *daemon, void *of, uint64_t now_ns)
{
    struct hs_order *order = of;
    (void)now_ns;
    ssize_t got = read(order->result_fd, &order->result, sizeof(order->result));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (got != (ssize_t)sizeof(order->result)) {
        order->result.error = -EIO; /* it died */
    }
    hs_daemon_unwatch(daemon, order->result_fd);
    waitpid(order->finisher_pid, NULL, 0);
    be_done(daemon, order);
}

void hs_order_finish(struct hs_daemon *daemon, struct hs_order *order)
{
    struct hs_session *session = order->session;
    order->state = HS_ORDER_FINISHING;
    order->end_real_ns = hs_daemon_real_ns();
    order->process_count = session->process_count;
    order->rejected_count = session->rejected_count;
    order->dump_count = session->dump_count;
    order->sample_count = session->ended_sample_count;
    order->result.file_bytes = session->bytes;
    order->source = (struct hs_source){ on_result, order };
    hs_heritage_update_order(order); /* before there is anybody who finishes it */
    int r = hs_finisher_start(order);
    if (r == 0) {
        r = hs_daemon_watch(daemon, order->result_fd, &order->source);
    }
    order->settings = session->settings;
    session->settings = (struct hs_session_settings){ 0 };
    order->session = hs_session_free(session);
    if (r < 0) {
        order->result.error = r;
        be_done(daemon, order);
    }
}
