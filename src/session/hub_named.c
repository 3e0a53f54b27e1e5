/*
 * Snapshots with names: those that a process asks for, and the last one of a process that a signal
 * killed. See hub_targets.h.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/named_request.h"
#include "collect/region/capture.h"
#include "collect/region/open_cut.h"
#include "rt/clock.h"
#include "session/hub_targets.h"

/* A request at work. */
struct opening {
    const struct hs_hub *hub;
    const struct hs_target *target;
    const struct hs_named_request *request;
    bool is_answered;
};

static void tell_cut(const struct hs_hub *hub, const struct hs_target *target, int fd)
{
    if (hub->config.on_cut) {
        hub->config.on_cut(hub->config.ctx, target, fd);
    }
}

/* The instant is fixed: the process may go on. One that does not wait any more gets no snapshot. */
static int on_open(void *ctx, const struct hs_open_cut *cut)
{
    struct opening *opening = ctx;
    int fd;
    if (opening->hub->config.on_cut && hs_open_cut_save(cut, opening->request->name, &fd) == 0) {
        tell_cut(opening->hub, opening->target, fd);
        close(fd);
    }
    opening->is_answered = true;
    return hs_named_request_answer(opening->request, 0);
}

static bool can_take(const struct hs_hub *hub, struct hs_target *target)
{
    return !hub->config.can_keep || hub->config.can_keep(hub->config.ctx, target);
}

/* Writes the snapshot into the session's trace, and hands it to the owner. Frees it. */
static void hand_on(struct hs_hub *hub, struct hs_target *target, struct hs_snapshot *snap,
                    uint64_t now_ns)
{
    struct hs_session *session = target->session.owner;
    /* Not before the capture: reading these files takes time. */
    if (session) {
        hs_hub_dump_counters(target, now_ns, false);
        hs_session_dump(session, snap);
    }
    hs_hub_keep(hub, target, snap);
    hs_snapshot_free(snap);
}

int hs_hub_take_saved_cut(struct hs_hub *hub, struct hs_target *target, int fd,
                          char ret_name[HS_NAMED_SNAPSHOT_NAME_MAX + 1])
{
    struct hs_snapshot *snap;
    int r = hs_target_capture_saved(target, fd, &snap);
    if (r == 0) {
        memcpy(ret_name, snap->name, HS_NAMED_SNAPSHOT_NAME_MAX + 1);
        hand_on(hub, target, snap, hs_clock_ns(CLOCK_MONOTONIC));
    }
    if (r != -ESTALE) {
        hs_target_capture_close(target);
    }
    return r;
}

static int take(struct hs_hub *hub, struct hs_target *target, struct opening *opening)
{
    struct hs_session *session = target->session.owner;
    struct hs_snapshot *snap;
    if (session ? session->is_over || session->error != 0 : !hs_target_is_bound(target)) {
        return -ENOTCONN;
    }
    if (!can_take(hub, target)) {
        return -EAGAIN;
    }
    uint64_t now_ns = hs_clock_ns(CLOCK_MONOTONIC);
    uint64_t begin_ns = hs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    int r = hs_target_capture_opened(target, now_ns, on_open, opening, &snap);
    if (r == 0) {
        memcpy(snap->name, opening->request->name, sizeof(snap->name));
        hand_on(hub, target, snap, now_ns);
    }
    if (opening->is_answered) {
        hs_target_capture_close(target);
        tell_cut(hub, target, -1);
    }
    if (session) {
        session->cpu_used_ns += hs_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
    }
    return r;
}

void hs_hub_on_named(void *ctx, struct hs_target *target, const struct hs_named_request *request)
{
    struct hs_hub *hub = ctx;
    struct opening opening = { .hub = hub, .target = target, .request = request };
    int r = target ? take(hub, target, &opening) : hub->session_count > 0 ? -EAGAIN : -ENOTCONN;
    if (r < 0 && !opening.is_answered) {
        hs_named_request_answer(request, r == -ENOMEM ? -EAGAIN : r);
    }
}

void hs_hub_keep(const struct hs_hub *hub, struct hs_target *target, const struct hs_snapshot *snap)
{
    if (hub->config.on_keep) {
        hub->config.on_keep(hub->config.ctx, target, snap);
    }
}

void hs_hub_keep_killed(const struct hs_hub *hub, struct hs_target *target,
                        struct hs_snapshot *snap)
{
    if (snap->is_final && snap->exit_kind == HS_EXIT_SIGNAL) {
        const char *abbreviation = sigabbrev_np(snap->exit_value);
        if (abbreviation) {
            snprintf(snap->name, sizeof(snap->name), "killed-SIG%s", abbreviation);
        } else {
            snprintf(snap->name, sizeof(snap->name), "killed-%d", snap->exit_value);
        }
        hs_hub_keep(hub, target, snap);
    }
}

void hs_hub_keep_bound(const struct hs_hub *hub, struct hs_target *target)
{
    struct hs_snapshot *snap;
    if (hub->config.on_keep && target->process.exit_kind == HS_EXIT_SIGNAL &&
        hs_target_capture(target, target->process.end_ns, true, &snap) == 0) {
        hs_hub_keep_killed(hub, target, snap);
        hs_snapshot_free(snap);
    }
}
