/*
 * Keeps account of watch workers: see watches.h.
 */
#include "watch/send/watches.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "rt/atomic.h"
#include "rt/check.h"
#include "rt/clock.h"
#include "watch/send/watch_ledger.h"

#define TURN_NS UINT64_C(250000000)

static size_t count_of_user(const struct hs_watches *watches, uid_t uid)
{
    size_t count = 0;
    for (size_t i = 0; i < watches->count; i++) {
        count += watches->list[i].viewer_uid == uid;
    }
    return count;
}

static void forget_ended(struct hs_watches *watches)
{
    for (size_t i = watches->count; i > 0; i--) {
        if (hs_watch_worker_reap(&watches->list[i - 1].worker)) {
            watches->list[i - 1] = watches->list[--watches->count];
        }
    }
}

/* A viewer that does not ask has the worker wake up for nothing. */
static void hand_on_ledger(struct hs_watch *watch, const struct hs_target *target)
{
    const struct hs_ledger *ledger = target->session.ledgers.last;
    if (ledger && ledger->time_mono_ns != watch->ledger_ns &&
        hs_load_relaxed(&watch->worker.page->is_waiting) == 0 &&
        hs_watch_ledger_send(watch->worker.line_fd, ledger) == 0) {
        watch->ledger_ns = ledger->time_mono_ns;
    }
}

int hs_watches_begin(struct hs_watches *watches, const struct hs_watch_order *order,
                     int *ret_viewer_fd)
{
    const struct hs_watch_task task = { .region = &order->target->region,
                                        .pid = order->target->process.pid,
                                        .interval_ms = hs_watch_interval_ms(order->asked_ms),
                                        .types = order->target->session.is_without_types
                                                     ? NULL
                                                     : &order->target->session.types,
                                        .settle = order->settle,
                                        .settle_ctx = order->settle_ctx };
    forget_ended(watches);
    HS_ASSERT(watches->count <= HS_WATCHES_MAX);
    if (watches->count == HS_WATCHES_MAX ||
        (order->viewer_uid != 0 &&
         count_of_user(watches, order->viewer_uid) >= HS_WATCHES_OF_USER_MAX)) {
        return -EAGAIN;
    }
    struct hs_watch *watch = &watches->list[watches->count];
    *watch = (struct hs_watch){ .pid = task.pid,
                                .start_mono_ns = order->target->region.header.start_mono_ns,
                                .viewer_pid = order->viewer_pid,
                                .viewer_uid = order->viewer_uid,
                                .asked_ms = task.interval_ms,
                                .start_real_ns = hs_clock_ns(CLOCK_REALTIME) };
    snprintf(watch->session, sizeof(watch->session), "%s", order->session);
    snprintf(watch->process, sizeof(watch->process), "%s", order->process);
    int r = hs_watch_worker_start(&task, &watch->worker, ret_viewer_fd);
    if (r == 0) {
        hand_on_ledger(watch, order->target); /* before the viewer can ask */
        watches->count++;
        watches->look_ns = 0;
    }
    return r;
}

uint64_t hs_watches_turn(struct hs_watches *watches, hs_watch_target_fn *target_of, const void *ctx,
                         uint64_t now_ns)
{
    if (watches->count == 0) {
        return UINT64_MAX;
    }
    if (now_ns < watches->look_ns) {
        return watches->look_ns;
    }
    forget_ended(watches);
    for (size_t i = 0; i < watches->count; i++) {
        struct hs_watch *watch = &watches->list[i];
        const struct hs_target *target = target_of(ctx, watch);
        if (!target) {
            hs_watch_worker_end(&watch->worker);
        } else if (watch->worker.line_fd >= 0) {
            hand_on_ledger(watch, target);
        }
    }
    watches->look_ns = now_ns + TURN_NS;
    return watches->count > 0 ? watches->look_ns : UINT64_MAX;
}

void hs_watches_end_all(struct hs_watches *watches)
{
    for (size_t i = 0; i < watches->count; i++) {
        hs_watch_worker_end(&watches->list[i].worker);
    }
}

void hs_watches_deinit(struct hs_watches *watches)
{
    while (watches->count > 0) {
        hs_watch_worker_kill(&watches->list[--watches->count].worker);
    }
}

void hs_watch_read_cost(const struct hs_watch *watch, struct hs_watch_cost *ret_cost)
{
    const struct hs_watch_page *page = watch->worker.page;
    clockid_t clock;
    *ret_cost = (struct hs_watch_cost){
        .look_count = hs_load_relaxed(&page->look_count),
        .look_cpu_ns = hs_load_relaxed(&page->look_cpu_ns),
        .interval_ms = (uint32_t)hs_load_relaxed(&page->interval_ms),
        .is_waiting = hs_load_relaxed(&page->is_waiting) != 0,
    };
    if (clock_getcpuclockid(watch->worker.pid, &clock) == 0) {
        ret_cost->cpu_ns = hs_clock_ns(clock);
    }
}
