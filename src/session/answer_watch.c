/*
 * Answers `watch`: see answer_watch.h.
 */
#include "session/answer_watch.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ctl/ctl_message.h"
#include "session/answer_choice.h"

_Static_assert(HS_LISTED_WATCHES_MAX >= HS_WATCHES_MAX, "all can be listed");

static int begin(struct hs_watches *watches, const struct hs_watch_asker *asker, int sock,
                 const Hs__Ctl__Watch *request, struct hs_answer_choice *choice)
{
    const struct hs_watch_order order = { .target = choice->target,
                                          .session = choice->session,
                                          .process = choice->process,
                                          .viewer_pid = asker->pid,
                                          .viewer_uid = asker->uid,
                                          .asked_ms = request->interval_ms,
                                          .settle = asker->settle,
                                          .settle_ctx = asker->settle_ctx };
    Hs__Ctl__Watched answer = HS__CTL__WATCHED__INIT;
    int fd = -1;
    int r = hs_watches_begin(watches, &order, &fd);
    if (r == -EAGAIN) {
        return hs_ctl_refuse(sock,
                             "too many viewers watch processes already (%u of one user, %u "
                             "in all); close one",
                             HS_WATCHES_OF_USER_MAX, HS_WATCHES_MAX);
    }
    if (r < 0) {
        return hs_ctl_refuse(sock, "process %d (%s) cannot be watched: %s",
                             (int)choice->target->process.pid, choice->process, strerror(-r));
    }
    answer.has_pid = answer.has_interval_ms = true;
    answer.pid = (uint32_t)choice->target->process.pid;
    answer.process = choice->process;
    answer.session = (char *)(uintptr_t)choice->session;
    answer.interval_ms = hs_watch_interval_ms(request->interval_ms);
    r = hs_ctl_send(sock, HS_CTL_WATCHED, &answer.base, &fd, 1);
    close(fd);
    return r;
}

int hs_answer_watch(const struct hs_recorded *recorded, struct hs_watches *watches,
                    const struct hs_watch_asker *asker, int sock, const Hs__Ctl__Watch *request)
{
    struct hs_answer_choice choice;
    hs_answer_choose(recorded, request->pid, request->name, &choice);
    return choice.count == 1 ? begin(watches, asker, sock, request, &choice)
                             : hs_answer_refuse_choice(sock, request->pid, &choice);
}

/* The image that a watch is about; NULL: it runs no more. */
static struct hs_target *find_target(const struct hs_recorded *recorded,
                                     const struct hs_watch *watch)
{
    struct hs_target *target = hs_registry_find(recorded->registry, watch->pid);
    bool is_it = target && !target->process.has_ended &&
                 target->region.header.start_mono_ns == watch->start_mono_ns;
    return is_it ? target : NULL;
}

static const struct hs_target *target_of(const void *ctx, const struct hs_watch *watch)
{
    const struct hs_recorded *recorded = ctx;
    const struct hs_target *target = find_target(recorded, watch);
    const char *session = target ? recorded->session_of(recorded->ctx, target) : NULL;
    return session && strcmp(session, watch->session) == 0 ? target : NULL;
}

uint64_t hs_answer_watches_turn(const struct hs_recorded *recorded, struct hs_watches *watches,
                                uint64_t now_ns)
{
    return hs_watches_turn(watches, target_of, recorded, now_ns);
}

static void add_watch(const struct hs_watch *watch, Hs__Ctl__Watching *out)
{
    struct hs_watch_cost cost;
    hs_watch_read_cost(watch, &cost);
    hs__ctl__watching__init(out);
    out->has_pid = out->has_viewer_pid = out->has_viewer_uid = out->has_start_real_ns =
        out->has_worker_pid = out->has_cpu_ns = out->has_look_count = out->has_look_cpu_ns =
            out->has_asked_ms = out->has_interval_ms = out->has_is_waiting = true;
    out->pid = (uint32_t)watch->pid;
    out->process = (char *)(uintptr_t)watch->process;
    out->session = (char *)(uintptr_t)watch->session;
    out->viewer_pid = (uint32_t)watch->viewer_pid;
    out->viewer_uid = watch->viewer_uid;
    out->start_real_ns = watch->start_real_ns;
    out->worker_pid = (uint32_t)watch->worker.pid;
    out->cpu_ns = cost.cpu_ns;
    out->look_count = cost.look_count;
    out->look_cpu_ns = cost.look_cpu_ns;
    out->asked_ms = watch->asked_ms;
    out->interval_ms = cost.interval_ms;
    out->is_waiting = cost.is_waiting;
}

void hs_answer_watches_list(const struct hs_watches *watches, struct hs_listing *listing)
{
    const struct hs_recorded *recorded = listing->recorded;
    Hs__Ctl__Listed *listed = &listing->listed;
    for (size_t i = 0; i < watches->count && listed->n_watches < HS_LISTED_WATCHES_MAX; i++) {
        const struct hs_target *target = find_target(recorded, &watches->list[i]);
        if (target && recorded->may_see(recorded->ctx, target)) {
            size_t k = listed->n_watches++;
            add_watch(&watches->list[i], &listing->watches[k]);
            listing->watch_pointers[k] = &listing->watches[k];
        }
    }
    listed->watches = listing->watch_pointers;
}
