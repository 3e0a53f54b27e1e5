/*
 * Start and end of the hub and of its sessions, and the schedules of dumps: see hub.h.
 * hub_targets.c and hub_running.c decide which session records which process.
 */
#include "session/hub.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rt/check.h"
#include "rt/clock.h"
#include "session/hub_targets.h"
#include "session/process_watch.h"
#include "util/array.h"

/* The least and the largest time between two looks at a recorded process: at its size and its
 * limits. With few processes, the least time is HS_LOOK_EACH_NS for each of them. */
#define HS_LOOK_EACH_NS UINT64_C(1000000)
#define HS_LOOK_MIN_NS  UINT64_C(20000000)
#define HS_LOOK_MAX_NS  UINT64_C(250000000) /* clients get the time from these looks */
/* How often the hub checks whether a session is over that has no processes and that none can
 * join. */
#define HS_LOOK_ENDS_NS UINT64_C(250000000)
/* How long a session without processes waits for a child that has not announced itself yet. */
#define HS_GRACE_NS UINT64_C(500000000)
/* How often a registry that has run out of descriptors tries again. */
#define HS_ROOM_NS UINT64_C(1000000000)

/* --- events of the registry ------------------------------------------------------------------- */

static void notify(const struct hs_hub *hub, hs_hub_target_fn *fn, struct hs_target *target)
{
    if (fn) {
        fn(hub->config.ctx, target);
    }
}

static void on_begin(void *ctx, struct hs_target *target)
{
    struct hs_hub *hub = ctx;
    if (hub->inherited) {
        hs_hub_resume(hub, target);
    } else {
        hs_hub_welcome(hub, target);
    }
    notify(hub, hub->config.on_change, target);
}

/* Has the process itself ended? A program image also ends when its process makes another region or
 * executes another program. */
static bool is_process_over(const struct hs_target *target)
{
    struct hs_proc_stat stat;
    return target->process.pid <= 0 || hs_proc_read_stat(target->process.pid, &stat) < 0 ||
           stat.state == 'Z' || stat.is_exiting;
}

void hs_hub_finish_target(struct hs_hub *hub, struct hs_target *target)
{
    struct hs_session *session = target->session.owner;
    if (session) {
        session->ended_sample_count += hs_target_sample_count(target);
        hs_hub_end_counters(target, target->process.end_ns);
        hs_hub_dump(hub, target, target->process.end_ns, true);
    } else if (hs_target_is_bound(target)) {
        hs_hub_keep_bound(hub, target);
    }
    if (is_process_over(target)) {
        hs_hub_give_up(hub, target->process.pid);
    }
    notify(hub, hub->config.on_gone, target);
    hs_target_close(target);
}

static void on_end(void *ctx, struct hs_target *target)
{
    struct hs_hub *hub = ctx;
    if (!hub->config.keep_back || !hub->config.keep_back(hub->config.ctx, target)) {
        hs_hub_finish_target(hub, target);
    }
}

static void on_skip(void *ctx, struct hs_target *target)
{
    const struct hs_hub *hub = ctx;
    notify(hub, hub->config.on_gone, target);
}

static void on_pending(void *ctx, const struct hs_pending_client *pending)
{
    const struct hs_hub *hub = ctx;
    hub->config.on_pending(hub->config.ctx, pending);
}

static void on_waiting(void *ctx, struct hs_pending_client *pending, int connection_fd)
{
    const struct hs_hub *hub = ctx;
    hub->config.on_waiting(hub->config.ctx, pending, connection_fd);
}

static void on_peer(void *ctx, int connection_fd)
{
    const struct hs_hub *hub = ctx;
    hub->config.on_peer(hub->config.ctx, connection_fd);
}

int hs_hub_new(const struct hs_hub_config *config, struct hs_hub **ret_hub)
{
    struct hs_hub *hub = calloc(1, sizeof(*hub));
    if (!hub) {
        return -ENOMEM;
    }
    hub->config = *config;
    const struct hs_registry_config registry = { .listener = config->listener,
                                                 .on_pending =
                                                     config->on_pending ? on_pending : NULL,
                                                 .on_waiting =
                                                     config->on_waiting ? on_waiting : NULL,
                                                 .on_begin = on_begin,
                                                 .on_skip = on_skip,
                                                 .on_end = on_end,
                                                 .on_peer = config->on_peer ? on_peer : NULL,
                                                 .on_named = hs_hub_on_named,
                                                 .is_taking_hidden = config->is_taking_hidden,
                                                 .ctx = hub };
    int r = hs_registry_open_with(&hub->registry, &registry);
    if (r < 0) {
        free(hub);
        return r;
    }
    *ret_hub = hub;
    return 0;
}

struct hs_hub *hs_hub_free(struct hs_hub *hub)
{
    if (hub) {
        hs_registry_close(&hub->registry);
        hs_process_watch_free(hub->watch);
        free(hub->sessions);
        free(hub);
    }
    return NULL;
}

/* --- dumps ------------------------------------------------------------------------------------ */

void hs_hub_dump(struct hs_hub *hub, struct hs_target *target, uint64_t now_ns, bool is_final)
{
    struct hs_session *session = target->session.owner;
    struct hs_snapshot *snap;
    if (!session || session->error != 0) {
        return;
    }
    uint64_t begin_ns = hs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (!target->process.has_ended) {
        hs_hub_hold_files(target, true, now_ns);
        hs_hub_dump_counters(target, now_ns, is_final);
    }
    int r = hs_target_capture(target, now_ns, is_final, &snap);
    if (r == 0) {
        hs_session_dump(session, snap);
        hs_hub_keep_killed(hub, target, snap);
        hs_snapshot_free(snap);
    }
    /* Also if the region cannot be read: each dump then costs the time of trying again. */
    session->cpu_used_ns += hs_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
    if (r < 0) {
        hub->unreadable_count += !target->session.has_failed; /* counts processes, not dumps */
        hub->unreadable_why = r == -ENOMEM ? "there was not enough memory to read it"
                                           : "its recorded data is not valid";
        target->session.has_failed = true;
    }
}

void hs_hub_dump_session(struct hs_hub *hub, const struct hs_session *session, uint64_t now_ns)
{
    for (size_t i = 0; i < hub->registry.target_count; i++) {
        struct hs_target *target = hub->registry.targets[i];
        const struct hs_session *owner = target->session.owner;
        if (owner && (!session || owner == session)) {
            /* One dump serves all occasions: a peak or a limit that calls for one now is served. */
            hs_dump_is_called_for(&owner->settings.dumps, &target->session.dumps,
                                  target->region.control, owner->cpu.rarity, now_ns);
            hs_hub_dump(hub, target, now_ns, false);
        }
    }
}

void hs_hub_dump_all(struct hs_hub *hub, uint64_t now_ns)
{
    hs_hub_dump_session(hub, NULL, now_ns);
}

/* --- sessions --------------------------------------------------------------------------------- */

size_t hs_hub_target_count(const struct hs_hub *hub, const struct hs_session *session)
{
    size_t count = 0;
    for (size_t i = 0; i < hub->registry.target_count; i++) {
        count += hub->registry.targets[i]->session.owner == session;
    }
    return count;
}

static bool has_targets(const struct hs_hub *hub, const struct hs_session *session)
{
    size_t i = 0;
    while (i < hub->registry.target_count && hub->registry.targets[i]->session.owner != session) {
        i++;
    }
    return i < hub->registry.target_count;
}

int hs_hub_inherit_session(struct hs_hub *hub, struct hs_session *session, uint64_t now_ns)
{
    int r = hs_array_reserve(&hub->sessions, &hub->session_capacity, hub->session_count + 1,
                             sizeof(hub->sessions[0]));
    /* Before the hub attaches to running processes, which takes a while: no program must be
     * missed. */
    r = r < 0 ? r : hs_hub_begin_new_processes(hub, session, now_ns);
    if (r < 0) {
        return r;
    }
    hub->sessions[hub->session_count++] = session;
    hub->look_ns = now_ns;
    return 0;
}

int hs_hub_start(struct hs_hub *hub, struct hs_session *session, uint64_t now_ns,
                 hs_hub_say_fn *say, void *say_ctx)
{
    int r = hs_hub_inherit_session(hub, session, now_ns);
    if (r == 0) {
        hs_hub_take_running(hub, session, now_ns, say, say_ctx);
    }
    return r;
}

/* Asks the owner to detach from a process that was attached to. */
static void ask_to_detach(struct hs_hub *hub, struct hs_session *session, struct hs_target *target)
{
    bool is_late = (target->process.hello_flags & HS_HELLO_LATE) != 0;
    if (is_late && !target->process.has_ended && hub->config.release &&
        hub->config.release(hub->config.ctx, session, target->process.pid) == 0) {
        notify(hub, hub->config.on_gone, target);
        hs_registry_drop(&hub->registry, target);
    }
}

void hs_hub_part(struct hs_hub *hub, struct hs_target *target, uint64_t now_ns)
{
    struct hs_session *session = target->session.owner;
    HS_ASSERT(session && !session->is_over);
    session->ended_sample_count += hs_target_sample_count(target);
    hs_hub_dump(hub, target, now_ns, true);
    hs_hub_end_counters(target, now_ns);
    hs_target_end_session(target);
    target->session.owner = NULL;
    target->region.heaps = NULL;
    hs_hub_check_bound(hub, target);
    notify(hub, hub->config.on_change, target);
    ask_to_detach(hub, session, target);
}

size_t hs_hub_leave_running(struct hs_hub *hub)
{
    size_t count = 0;
    HS_ASSERT(!hub->config.release);
    for (; hub->registry.target_count > 0; count++) {
        struct hs_target *target = hub->registry.targets[hub->registry.target_count - 1];
        if (target->session.owner) {
            hs_hub_part(hub, target, hs_clock_ns(CLOCK_MONOTONIC));
        }
        hs_registry_drop(&hub->registry, target);
    }
    return count;
}

void hs_hub_stop(struct hs_hub *hub, struct hs_session *session, uint64_t now_ns)
{
    for (size_t i = hub->registry.target_count; i > 0; i--) {
        struct hs_target *target = hub->registry.targets[i - 1];
        if (target->session.owner == session) {
            hs_hub_part(hub, target, now_ns);
        }
    }
    for (size_t i = 0; i < hub->session_count; i++) {
        if (hub->sessions[i] == session) {
            hub->session_count--;
            memmove(hub->sessions + i, hub->sessions + i + 1,
                    (hub->session_count - i) * sizeof(hub->sessions[0]));
            break;
        }
    }
    session->is_over = true;
    session->end_ns = now_ns;
    hub->config.on_over(hub->config.ctx, session);
}

/* Does the session name processes by pid only, and has the last of them ended? */
static bool has_no_process_left(const struct hs_hub *hub, const struct hs_session *session)
{
    if (hs_session_waits(session) || session->expected.count > 0 || has_targets(hub, session)) {
        return false;
    }
    for (size_t i = 0; i < session->settings.pid_count; i++) {
        pid_t pid = session->settings.pids[i];
        const struct hs_target *target = hs_registry_find(&hub->registry, pid);
        /* A recorded process that is no target any more has ended, and may still be a zombie; or it
         * has executed another program, and will announce itself again soon. */
        if (!target && hs_pid_list_has(&session->seen, pid) && kill(pid, 0) == 0) {
            struct hs_proc_stat stat;
            if (hs_proc_read_stat(pid, &stat) == 0 && stat.state != 'Z' && !stat.is_exiting) {
                return false;
            }
        }
    }
    return true;
}

/* Is no process left, and has none come for HS_GRACE_NS? A program that puts itself into the
 * background ends before its child is known: the child announces itself with its first sample. */
static bool is_deserted(const struct hs_hub *hub, struct hs_session *session, uint64_t now_ns)
{
    if (!has_no_process_left(hub, session)) {
        session->idle_ns = 0;
        return false;
    }
    session->idle_ns = session->idle_ns ? session->idle_ns : now_ns;
    return !session->has_begun || now_ns >= session->idle_ns + HS_GRACE_NS;
}

/* When the session ends. Its duration does not run while its first process is being attached to. */
static uint64_t find_end(const struct hs_session *session)
{
    bool is_beginning = !session->has_begun && session->expected.count > 0;
    return is_beginning ? UINT64_MAX : session->end_ns;
}

/* The first session that must end now, or NULL. */
static struct hs_session *find_over(const struct hs_hub *hub, uint64_t now_ns)
{
    for (size_t i = 0; i < hub->session_count; i++) {
        struct hs_session *session = hub->sessions[i];
        if (now_ns >= find_end(session) || session->error != 0 ||
            is_deserted(hub, session, now_ns)) {
            return session;
        }
    }
    return NULL;
}

/* --- time ------------------------------------------------------------------------------------- */

/* The least time between two looks at all processes. */
static uint64_t look_min_ns(const struct hs_hub *hub)
{
    uint64_t least_ns = hub->registry.target_count * HS_LOOK_EACH_NS;
    return least_ns < HS_LOOK_MIN_NS ? least_ns : HS_LOOK_MIN_NS;
}

/* Looks at one process: its size, its new libraries, its counters, its budgets and its dump limits.
 * Returns when to look again. */
static uint64_t look_at(struct hs_hub *hub, struct hs_target *target, uint64_t now_ns)
{
    struct hs_session *session = target->session.owner;
    const struct hs_dump_schedule *schedule = &session->settings.dumps;
    uint64_t next_ns = now_ns + HS_LOOK_MAX_NS;
    uint64_t begin_ns = hs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    hs_hub_look_at_process(target, now_ns);
    if (target->process.has_executed) {
        return now_ns;
    }
    if (hub->config.on_look) {
        hub->config.on_look(hub->config.ctx, target);
    }
    if (target->process.has_new_libraries && hub->config.refresh) {
        target->process.has_new_libraries =
            hub->config.refresh(hub->config.ctx, target->session.owner, target->process.pid) < 0;
    }
    next_ns = target->process.look_next_ns < next_ns ? target->process.look_next_ns : next_ns;
    uint64_t counters_ns = hs_hub_look_at_counters(target, now_ns);
    next_ns = counters_ns < next_ns ? counters_ns : next_ns;
    uint64_t ledger_ns = hs_target_look_at_ledger(target, &hub->ledger_allowance, now_ns);
    next_ns = ledger_ns < next_ns ? ledger_ns : next_ns;
    /* A turn looks through all processes, so several of many become due in one turn. */
    uint64_t least_ns = now_ns + look_min_ns(hub);
    next_ns = next_ns < least_ns ? least_ns : next_ns;
    uint64_t budget_ns = hs_target_keep_budget(target, now_ns);
    next_ns = budget_ns < next_ns ? budget_ns : next_ns;
    session->cpu_used_ns += hs_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
    if (hs_dump_has_limits(schedule)) {
        uint64_t limit_ns = now_ns + HS_DUMP_LOOK_NS;
        next_ns = limit_ns < next_ns ? limit_ns : next_ns;
        if (hs_dump_is_called_for(schedule, &target->session.dumps, target->region.control,
                                  session->cpu.rarity, now_ns)) {
            hs_hub_dump(hub, target, now_ns, false);
        }
    }
    return next_ns;
}

/* Looks at all recorded processes. Returns when to look again. */
static uint64_t look(struct hs_hub *hub, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = 0; i < hub->registry.target_count; i++) {
        struct hs_target *target = hub->registry.targets[i];
        if (target->session.owner) {
            uint64_t at_ns = look_at(hub, target, now_ns);
            if (target->process.has_executed) {
                hs_hub_follow(hub, target, now_ns);
                return now_ns; /* the list has changed */
            }
            next_ns = at_ns < next_ns ? at_ns : next_ns;
        }
    }
    return next_ns;
}

/* Sessions whose recording has used much of their CPU budget dump more rarely from now on. */
static void keep_cpu_budgets(struct hs_hub *hub, uint64_t now_ns)
{
    for (size_t i = 0; i < hub->session_count; i++) {
        struct hs_session *session = hub->sessions[i];
        bool is_changed = hs_session_keep_cpu_budget(session, now_ns);
        for (size_t t = 0; is_changed && t < hub->registry.target_count; t++) {
            if (hub->registry.targets[t]->session.owner == session) {
                hs_target_spare_collector(hub->registry.targets[t], &session->cpu, now_ns);
            }
        }
    }
}

void hs_hub_look_soon(struct hs_hub *hub, struct hs_target *target, uint64_t now_ns)
{
    const struct hs_session *session = target->session.owner;
    bool is_now = session->settings.is_taking_announced && !target->process.has_ended;
    uint64_t soon_ns = is_now ? look_at(hub, target, now_ns) : now_ns + look_min_ns(hub);
    hub->look_ns = hub->look_ns < soon_ns ? hub->look_ns : soon_ns;
}

/* Ends sessions that are over, takes dumps that are due, and looks at processes and budgets.
 * Returns when to do that again. */
static uint64_t keep_time(struct hs_hub *hub, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    struct hs_session *over;
    while ((over = find_over(hub, now_ns)) != NULL) {
        hs_hub_stop(hub, over, now_ns);
    }
    for (size_t i = 0; i < hub->session_count; i++) {
        if (hs_session_take_due_dump(hub->sessions[i], now_ns)) {
            hs_hub_dump_session(hub, hub->sessions[i], now_ns);
        }
    }
    if (hub->session_count > 0 && now_ns >= hub->look_ns) {
        hub->look_ns = look(hub, now_ns);
    }
    keep_cpu_budgets(hub, now_ns);
    for (size_t i = 0; i < hub->session_count; i++) {
        struct hs_session *session = hub->sessions[i];
        uint64_t sources_ns = hs_session_turn_sources(session, now_ns);
        next_ns = sources_ns < next_ns ? sources_ns : next_ns;
        uint64_t end_ns = find_end(session);
        next_ns = end_ns < next_ns ? end_ns : next_ns;
        next_ns = session->next_dump_ns < next_ns ? session->next_dump_ns : next_ns;
        if (!hs_session_waits(session) && !has_targets(hub, session)) {
            uint64_t ends_ns = now_ns + HS_LOOK_ENDS_NS;
            next_ns = ends_ns < next_ns ? ends_ns : next_ns;
        }
    }
    return hub->session_count > 0 && hub->look_ns < next_ns ? hub->look_ns : next_ns;
}

uint64_t hs_hub_turn(struct hs_hub *hub, uint64_t now_ns)
{
    hs_registry_turn(&hub->registry, now_ns);
    bool is_again = hs_hub_take_children(hub, now_ns); /* the children may have children, too */
    uint64_t next_ns = keep_time(hub, now_ns);
    next_ns = is_again ? now_ns : next_ns;
    uint64_t process_watch_ns = hs_hub_look_for_new_processes(hub, now_ns);
    next_ns = process_watch_ns < next_ns ? process_watch_ns : next_ns;
    return hs_hub_is_out_of_fds(hub) && now_ns + HS_ROOM_NS < next_ns ? now_ns + HS_ROOM_NS
                                                                      : next_ns;
}
