/*
 * Gives a session the processes that run already, or that start without a client: see
 * hub_targets.h.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "rt/clock.h"
#include "session/hub_targets.h"
#include "util/proc.h"

/* A session that takes running processes. */
struct taking {
    struct hs_hub *hub;
    struct hs_session *session;
    uint64_t now_ns;
    hs_hub_say_fn *say;
    void *say_ctx;
    bool is_new_process; /* the process has just started, or has a new name */
};

static void answer(const struct taking *taking, const struct hs_process_facts *process,
                   enum hs_hub_answer what, const struct hs_session *holder,
                   const struct hs_refusal_words *words)
{
    const struct hs_hub_verdict verdict = {
        .process = process,
        .answer = what,
        .holder = holder,
        .is_named = hs_session_names(taking->session, process->facts.pid),
        .words = words,
    };
    if (taking->say) {
        taking->say(taking->say_ctx, &verdict);
    }
}

/* Takes a process that has announced itself. */
static void take_target(const struct taking *taking, struct hs_target *target,
                        const struct hs_process_facts *facts)
{
    struct hs_session *holder = target->session.owner;
    if (target->process.has_ended) {
        return;
    }
    if (holder) {
        hs_hub_reject(taking->session, holder, facts, taking->now_ns);
        answer(taking, facts, HS_HUB_REJECTED, holder, NULL);
        return;
    }
    answer(taking, facts, hs_hub_give(target, taking->session, taking->now_ns), NULL, NULL);
    if (taking->hub->config.on_change) {
        taking->hub->config.on_change(taking->hub->config.ctx, target);
    }
}

static void refuse_client(const struct taking *taking, const struct hs_process_facts *facts, int r)
{
    struct hs_refusal_words words;
    hs_hub_word_attaching(r, &words);
    hs_session_refuse(taking->session, facts, HS_REFUSAL_NO_CLIENT, &words, taking->now_ns);
    answer(taking, facts, HS_HUB_NO_CLIENT, NULL, &words);
}

/* The session for which the process is about to get a client; NULL: none. */
static struct hs_session *find_expecting(const struct hs_hub *hub, pid_t pid)
{
    for (size_t i = 0; i < hub->session_count; i++) {
        if (hs_pid_list_has(&hub->sessions[i]->expected, pid)) {
            return hub->sessions[i];
        }
    }
    return NULL;
}

/* Takes a process that has not announced itself: asks the owner to attach to it. */
static void attach(const struct taking *taking, const struct hs_process_facts *facts)
{
    struct hs_hub *hub = taking->hub;
    struct hs_session *holder = find_expecting(hub, facts->facts.pid);
    int r = -ENOSYS;
    if (holder == taking->session) {
        return;
    }
    if (holder) {
        hs_hub_reject(taking->session, holder, facts, taking->now_ns);
        answer(taking, facts, HS_HUB_REJECTED, holder, NULL);
        return;
    }
    /* Before the call, which may bring the target at once. */
    hs_pid_list_add(&taking->session->expected, facts->facts.pid);
    if (hub->config.attach) {
        r = hub->config.attach(hub->config.ctx, taking->session, facts);
    }
    if (r < 0) {
        hs_pid_list_drop(&taking->session->expected, facts->facts.pid);
        refuse_client(taking, facts, r);
        return;
    }
    bool is_there = hs_pid_list_has(&taking->session->seen, facts->facts.pid);
    answer(taking, facts, is_there ? HS_HUB_RECORDED : HS_HUB_ATTACHING, NULL, NULL);
}

/* For a kernel thread, a zombie, and a process that does not exist. */
static void refuse_gone(const struct taking *taking, pid_t pid)
{
    static const struct hs_refusal_words words = { .what = "there is no such process" };
    struct hs_process_facts facts = { .facts.pid = pid };
    hs_session_refuse(taking->session, &facts, HS_REFUSAL_GONE, &words, taking->now_ns);
    answer(taking, &facts, HS_HUB_GONE, NULL, NULL);
}

static void take_pid(const struct taking *taking, pid_t pid)
{
    struct hs_process_facts facts;
    struct hs_refusal_words words;
    struct hs_target *target = hs_registry_find(&taking->hub->registry, pid);
    if (pid == getpid()) {
        return; /* a process cannot attach to itself */
    }
    if (target) {
        hs_process_facts_of_target(target, &facts);
    } else if (hs_process_facts_read(pid, &facts) < 0 || facts.facts.cmdline_bytes == 0) {
        if (hs_session_names(taking->session, pid)) {
            refuse_gone(taking, pid);
        }
        return;
    }
    if (taking->is_new_process ? !hs_session_means_starting(taking->session, &facts.facts)
                               : !hs_session_means_running(taking->session, &facts.facts)) {
        return;
    }
    enum hs_refusal refusal =
        hs_hub_authorize(taking->hub, taking->session, &facts, target, &words);
    if (refusal == HS_REFUSAL_NONE && target) {
        take_target(taking, target, &facts);
    } else if (refusal == HS_REFUSAL_NONE) {
        attach(taking, &facts);
    } else if (!hs_hub_is_silent(taking->hub, taking->session, refusal, pid)) {
        hs_session_refuse(taking->session, &facts, refusal, &words, taking->now_ns);
        answer(taking, &facts, HS_HUB_NOT_ALLOWED, NULL, &words);
    } else if (hs_session_names(taking->session, pid)) {
        refuse_gone(taking, pid);
    }
}

void hs_hub_take_pid(struct hs_hub *hub, struct hs_session *session, pid_t pid, uint64_t now_ns)
{
    const struct taking taking = { .hub = hub, .session = session, .now_ns = now_ns };
    take_pid(&taking, pid);
}

/* Was it forked by one of our targets, and has it executed nothing since? Then it has a client. */
static bool is_forked_of_ours(const struct hs_hub *hub, pid_t pid)
{
    struct hs_proc_stat stat, parent;
    return hs_proc_read_stat(pid, &stat) == 0 &&
           hs_registry_find(&hub->registry, (pid_t)stat.ppid) != NULL &&
           hs_proc_read_stat((pid_t)stat.ppid, &parent) == 0 &&
           stat.stack_start_va == parent.stack_start_va;
}

void hs_hub_take_new_process(struct hs_hub *hub, struct hs_session *session, pid_t pid)
{
    const struct taking taking = { .hub = hub,
                                   .session = session,
                                   .now_ns = hs_clock_ns(CLOCK_MONOTONIC),
                                   .say = hub->config.say_new_process,
                                   .say_ctx = hub->config.ctx,
                                   .is_new_process = true };
    const struct hs_target *target = hs_registry_find(&hub->registry, pid);
    if (target ? target->session.owner != session : !is_forked_of_ours(hub, pid)) {
        take_pid(&taking, pid);
    }
}

/* Takes the processes of /proc that match by name. Those named by pid were taken before. */
static void take_all(const struct taking *taking)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    while (proc && (entry = readdir(proc)) != NULL) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        if (pid > 0 && pid <= INT32_MAX && *end == '\0' &&
            !hs_session_names(taking->session, (pid_t)pid)) {
            take_pid(taking, (pid_t)pid);
        }
    }
    if (proc) {
        closedir(proc);
    }
}

/* Takes the forked children of the processes that the session has by now, and their children.
 * Children that announce themselves later go to their parent's session anyway. */
static void take_forked_children(const struct taking *taking)
{
    const struct hs_registry *registry = &taking->hub->registry;
    bool is_changed = true;
    while (is_changed) {
        is_changed = false;
        for (size_t i = 0; i < registry->target_count; i++) {
            struct hs_target *target = registry->targets[i];
            struct hs_process_facts facts;
            bool is_late;
            if (target->session.owner || target->process.has_ended || target->state.has_recorded ||
                !hs_hub_is_forked_for(taking->session, target, &is_late)) {
                continue;
            }
            hs_process_facts_of_target(target, &facts);
            if (hs_hub_may_have(taking->hub, taking->session, &facts, target, taking->now_ns)) {
                target->state.is_late = is_late;
                take_target(taking, target, &facts);
                is_changed |= target->session.owner != NULL;
            }
        }
    }
}

void hs_hub_take_running(struct hs_hub *hub, struct hs_session *session, uint64_t now_ns,
                         hs_hub_say_fn *say, void *say_ctx)
{
    const struct taking taking = { hub, session, now_ns, say, say_ctx, false };
    if (!session->settings.is_taking_running) {
        return;
    }
    for (size_t i = 0; i < session->settings.pid_count; i++) {
        take_pid(&taking, session->settings.pids[i]);
    }
    if (session->settings.is_all || session->settings.name_count > 0) {
        take_all(&taking);
    }
    take_forked_children(&taking);
}

void hs_hub_follow(struct hs_hub *hub, struct hs_target *target, uint64_t now_ns)
{
    struct hs_session *session = target->session.owner;
    pid_t pid = target->process.pid;
    hs_registry_end(&hub->registry, pid, now_ns, HS_EXIT_EXECUTED, 0);
    hs_hub_take_pid(hub, session, pid, now_ns);
    if (!hs_registry_find(&hub->registry, pid) && !hs_pid_list_has(&session->expected, pid)) {
        hs_pid_list_drop(&session->seen, pid); /* the session does not wait for it */
    }
}
