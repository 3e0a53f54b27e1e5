/*
 * Takes sessions and targets from a hub whose process was killed: see hub.h.
 */
#include <unistd.h>

#include "rt/clock.h"
#include "session/hub_targets.h"
#include "util/proc.h"

/* The session and the state that the target which is being restored had in the previous hub. */
struct hs_hub_inherited {
    struct hs_session *session;
    const struct hs_target_state *state;
};

void hs_hub_resume(struct hs_hub *hub, struct hs_target *target)
{
    struct hs_session *session = hub->inherited->session;
    struct hs_process_facts facts;
    hs_target_restore(target, hub->inherited->state);
    target->session.are_children_taken = true;
    hs_process_facts_of_target(target, &facts);
    if (session && !target->state.is_dormant &&
        hs_hub_may_have(hub, session, &facts, target, hs_clock_ns(CLOCK_MONOTONIC))) {
        hs_hub_own(target, session);
    } else {
        hs_hub_check_bound(hub, target);
        hs_target_end_session(target); /* its session is over, which its client does not know yet */
    }
}

int hs_hub_inherit_target(struct hs_hub *hub, struct hs_pending_client *pending,
                          struct hs_session *session, const struct hs_target_state *state,
                          uint64_t now_ns)
{
    const struct hs_hub_inherited inherited = { session, state };
    hub->inherited = &inherited;
    int r = hs_registry_take(&hub->registry, pending, now_ns);
    hub->inherited = NULL;
    return r;
}

/* Has the process ended, or did it start after the session? Then the pid was another process's. */
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
        struct hs_session *session = hub->sessions[i];
        const struct hs_session_settings *settings = &session->settings;
        for (size_t k = 0; settings->is_taking_running && k < settings->pid_count; k++) {
            pid_t pid = settings->pids[k];
            if (!hs_registry_find(&hub->registry, pid) && !is_younger(pid, session)) {
                hs_hub_take_pid(hub, session, pid, now_ns);
            }
        }
    }
}
