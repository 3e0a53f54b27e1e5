/*
 * Which session gets which process: see hub_targets.h.
 *
 * A forked child goes with its parent, whatever its name has become: it holds the parent's blocks. Its
 * region says whose child it is, /proc may know better (in a pid namespace the process sees other
 * numbers). Neither is proof, so the user still decides.
 */
#include "session/hub_targets.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "util/proc.h"

#define HS_RSS_PERIOD_SESSION_NS UINT64_C(2000000000)

static uint64_t clock_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

/* --- giving ------------------------------------------------------------------------------------ */

static void own(struct hs_target *target, struct hs_session *session)
{
    target->owner = session;
    target->rss_period_max_ns = HS_RSS_PERIOD_SESSION_NS;
    session->has_begun = true;
    hs_pid_list_add(&session->seen, target->pid);
    if (!hs_target_is_from_startup(target)) {
        hs_pid_list_add(&session->late, target->pid);
    }
    hs_pid_list_drop(&session->expected, target->pid);
}

static enum hs_hub_answer give(struct hs_target *target, struct hs_session *session,
                               uint64_t now_ns)
{
    uint64_t interval_bytes = session->settings.interval_bytes;
    if (hs_target_begin_session(target, interval_bytes, now_ns) < 0) {
        /* Its next region is this session's. */
        hs_pid_list_add(&session->expected, target->pid);
        hs_target_renew(target, interval_bytes);
        return HS_HUB_ATTACHING;
    }
    own(target, session);
    return HS_HUB_RECORDED;
}

/* --- images that begin ------------------------------------------------------------------------- */

/* Who forked it, as it says and as /proc does. False: it was not forked. */
static bool find_parents(const struct hs_target *target, pid_t ret_parents[2])
{
    struct hs_proc_stat stat;
    ret_parents[0] = ret_parents[1] = (pid_t)target->region.header.forked_from_pid;
    if (ret_parents[0] == 0) {
        return false;
    }
    if (target->pid > 0 && hs_proc_read_stat(target->pid, &stat) == 0) {
        ret_parents[1] = (pid_t)stat.ppid;
    }
    return true;
}

/* Was it forked from a process of this session? */
static bool is_heir(const struct hs_session *session, struct hs_target *target,
                    const pid_t parents[2])
{
    if (!hs_session_is_allowed(session, target->uid) ||
        (!hs_pid_list_has(&session->seen, parents[0]) &&
         !hs_pid_list_has(&session->seen, parents[1]))) {
        return false;
    }
    target->is_late =
        hs_pid_list_has(&session->late, parents[0]) || hs_pid_list_has(&session->late, parents[1]);
    return true;
}

static struct hs_session *session_of_parent(const struct hs_hub *hub, struct hs_target *target)
{
    pid_t parents[2];
    bool is_forked = find_parents(target, parents);
    for (size_t i = 0; is_forked && i < hub->session_count; i++) {
        if (is_heir(hub->sessions[i], target, parents)) {
            return hub->sessions[i];
        }
    }
    return NULL;
}

/* For a process that was to get a client: the session that asked for it. */
static struct hs_session *session_that_expects(const struct hs_hub *hub,
                                               const struct hs_target *target)
{
    for (size_t i = 0; i < hub->session_count; i++) {
        if (hs_pid_list_has(&hub->sessions[i]->expected, target->pid) &&
            hs_session_is_allowed(hub->sessions[i], target->uid)) {
            return hub->sessions[i];
        }
    }
    return NULL;
}

void hs_hub_welcome(struct hs_hub *hub, struct hs_target *target)
{
    struct hs_process_facts facts;
    uint64_t now_ns = clock_ns();
    if (target->is_dormant && (target->has_ended || hub->session_count == 0)) {
        return; /* there is nothing in it, and nothing to come, or nobody wants it */
    }
    struct hs_session *holder = session_that_expects(hub, target);
    if (!holder) {
        holder = session_of_parent(hub, target);
    }
    hs_process_facts_of_target(target, &facts);
    for (size_t i = 0; !holder && i < hub->session_count; i++) {
        holder =
            hs_session_covers_starting(hub->sessions[i], &facts.facts) ? hub->sessions[i] : NULL;
    }
    if (!holder || give(target, holder, now_ns) != HS_HUB_RECORDED) {
        hs_target_end_session(target);
        return;
    }
    for (size_t i = 0; i < hub->session_count; i++) {
        struct hs_session *other = hub->sessions[i];
        if (other != holder && hs_session_covers_starting(other, &facts.facts)) {
            hs_session_dump_rejected(other, &facts, now_ns);
        }
    }
}

/* --- processes that run ------------------------------------------------------------------------ */

struct taking {
    struct hs_hub *hub;
    struct hs_session *session;
    uint64_t now_ns;
    hs_hub_say_fn *say;
    void *say_ctx;
};

static bool is_named(const struct taking *taking, pid_t pid)
{
    const struct hs_session_settings *settings = &taking->session->settings;
    for (size_t i = 0; i < settings->pid_count; i++) {
        if (settings->pids[i] == pid) {
            return true;
        }
    }
    return false;
}

static void answer(const struct taking *taking, const struct hs_process_facts *process,
                   enum hs_hub_answer what, const struct hs_session *holder)
{
    const struct hs_hub_verdict verdict = { .process = process,
                                            .answer = what,
                                            .holder = holder,
                                            .is_named = is_named(taking, process->facts.pid) };
    if (taking->say) {
        taking->say(taking->say_ctx, &verdict);
    }
}

/* A process that announced itself. */
static void take_target(const struct taking *taking, struct hs_target *target,
                        const struct hs_process_facts *facts)
{
    struct hs_session *holder = target->owner;
    if (target->has_ended) {
        return;
    }
    if (holder) {
        hs_session_dump_rejected(taking->session, facts, taking->now_ns);
        answer(taking, facts, HS_HUB_REJECTED, holder);
        return;
    }
    answer(taking, facts, give(target, taking->session, taking->now_ns), NULL);
    if (taking->hub->config.on_change) {
        taking->hub->config.on_change(taking->hub->config.ctx, target);
    }
}

/* One that did not. */
static void attach(const struct taking *taking, const struct hs_process_facts *facts)
{
    struct hs_hub *hub = taking->hub;
    /* Before the call: it may adopt the process at once. */
    hs_pid_list_add(&taking->session->expected, facts->facts.pid);
    if (!hub->config.attach || hub->config.attach(hub->config.ctx, taking->session, facts) < 0) {
        hs_pid_list_drop(&taking->session->expected, facts->facts.pid);
        answer(taking, facts, HS_HUB_NO_CLIENT, NULL);
        return;
    }
    bool is_there = hs_pid_list_has(&taking->session->seen, facts->facts.pid);
    answer(taking, facts, is_there ? HS_HUB_RECORDED : HS_HUB_ATTACHING, NULL);
}

static void take_pid(const struct taking *taking, pid_t pid)
{
    struct hs_process_facts facts;
    struct hs_target *target = hs_registry_find(&taking->hub->registry, pid);
    if (pid == getpid()) {
        return; /* nobody profiles himself this way */
    }
    if (target) {
        hs_process_facts_of_target(target, &facts);
    } else if (hs_process_facts_read(pid, &facts) < 0 || facts.facts.cmdline_bytes == 0) {
        /* A kernel thread, a zombie, or gone. */
        if (is_named(taking, pid)) {
            facts = (struct hs_process_facts){ .facts.pid = pid };
            answer(taking, &facts, HS_HUB_GONE, NULL);
        }
        return;
    }
    if (hs_session_covers_running(taking->session, &facts.facts)) {
        if (target) {
            take_target(taking, target, &facts);
        } else {
            attach(taking, &facts);
        }
    } else if (is_named(taking, pid) && !hs_session_is_allowed(taking->session, facts.facts.uid)) {
        answer(taking, &facts, HS_HUB_NOT_ALLOWED, NULL);
    }
}

/* By name: whoever is in /proc. */
static void take_all(const struct taking *taking)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    while (proc && (entry = readdir(proc)) != NULL) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        if (pid > 0 && pid <= INT32_MAX && *end == '\0' && !is_named(taking, (pid_t)pid)) {
            take_pid(taking, (pid_t)pid);
        }
    }
    if (proc) {
        closedir(proc);
    }
}

/* Children of what it has by now, and theirs: those that have not announced themselves yet come with their
 * parents anyway. */
static void take_heirs(const struct taking *taking)
{
    const struct hs_registry *registry = &taking->hub->registry;
    bool is_changed = true;
    while (is_changed) {
        is_changed = false;
        for (size_t i = 0; i < registry->target_count; i++) {
            struct hs_target *target = registry->targets[i];
            struct hs_process_facts facts;
            pid_t parents[2];
            if (!target->owner && !target->has_ended && !target->has_recorded &&
                find_parents(target, parents) && is_heir(taking->session, target, parents)) {
                hs_process_facts_of_target(target, &facts);
                take_target(taking, target, &facts);
                is_changed |= target->owner != NULL;
            }
        }
    }
}

void hs_hub_take_running(struct hs_hub *hub, struct hs_session *session, uint64_t now_ns,
                         hs_hub_say_fn *say, void *say_ctx)
{
    const struct taking taking = { hub, session, now_ns, say, say_ctx };
    if (!session->settings.is_taking_running) {
        return;
    }
    for (size_t i = 0; i < session->settings.pid_count; i++) {
        take_pid(&taking, session->settings.pids[i]);
    }
    if (session->settings.is_all || session->settings.name_count > 0) {
        take_all(&taking);
    }
    take_heirs(&taking);
}

/* --- inheriting -------------------------------------------------------------------------------- */

struct hs_hub_heir {
    struct hs_session *session;
    const struct hs_target_state *state;
};

void hs_hub_restore(struct hs_hub *hub, struct hs_target *target)
{
    struct hs_session *session = hub->heir->session;
    hs_target_restore(target, hub->heir->state);
    if (session && !target->is_dormant && hs_session_is_allowed(session, target->uid)) {
        own(target, session);
    } else {
        hs_target_end_session(target); /* its session was over: nobody had told it yet */
    }
}

int hs_hub_inherit_target(struct hs_hub *hub, struct hs_guest *guest, struct hs_session *session,
                          const struct hs_target_state *state, uint64_t now_ns)
{
    const struct hs_hub_heir heir = { session, state };
    hub->heir = &heir;
    int r = hs_registry_adopt(&hub->registry, guest, now_ns);
    hub->heir = NULL;
    return r;
}

/* Its number may be another process's by now. */
static bool is_younger(pid_t pid, const struct hs_session *session)
{
    struct hs_proc_stat stat;
    long ticks = sysconf(_SC_CLK_TCK);
    return ticks <= 0 || hs_proc_read_stat(pid, &stat) < 0 ||
           stat.start_ticks * (UINT64_C(1000000000) / (uint64_t)ticks) > session->start_ns;
}

void hs_hub_inherit_done(struct hs_hub *hub, uint64_t now_ns)
{
    for (size_t i = 0; i < hub->session_count; i++) {
        const struct taking taking = { hub, hub->sessions[i], now_ns, NULL, NULL };
        const struct hs_session_settings *settings = &hub->sessions[i]->settings;
        for (size_t k = 0; settings->is_taking_running && k < settings->pid_count; k++) {
            pid_t pid = settings->pids[k];
            if (!hs_registry_find(&hub->registry, pid) && !is_younger(pid, taking.session)) {
                take_pid(&taking, settings->pids[k]);
            }
        }
    }
}

/* --- adopting ---------------------------------------------------------------------------------- */

int hs_hub_adopt(struct hs_hub *hub, struct hs_guest *guest, uint64_t now_ns)
{
    return hs_registry_adopt(&hub->registry, guest, now_ns);
}

void hs_hub_give_up(struct hs_hub *hub, pid_t pid)
{
    for (size_t i = 0; i < hub->session_count; i++) {
        hs_pid_list_drop(&hub->sessions[i]->expected, pid);
    }
}
