/*
 * Programs without a client that start, or take a new name, while sessions wait for programs of that name: they are
 * noticed in /proc, and a client is brought in as into any running process. See newcomers.h.
 *
 * Only sessions that wait by name take them. Of a session for all processes it would be too much to attach to each
 * command that a shell starts.
 *
 * Holds     /proc is looked at only while there is such a session.
 * Threads   as the hub.
 * Fails     -ENOMEM at the start of such a session.
 */
#include <errno.h>

#include "session/hub_targets.h"
#include "session/newcomers.h"

static bool is_waiting(const struct hs_session *session)
{
    const struct hs_session_settings *settings = &session->settings;
    return settings->is_attaching_started && settings->is_taking_startup &&
           settings->name_count > 0 && !settings->is_all;
}

int hs_hub_begin_newcomers(struct hs_hub *hub, const struct hs_session *session, uint64_t now_ns)
{
    if (hub->newcomers || !hub->config.attach || !is_waiting(session)) {
        return 0;
    }
    hub->newcomers = hs_newcomers_new(now_ns);
    return hub->newcomers ? 0 : -ENOMEM;
}

static void on_newcomer(void *ctx, pid_t pid)
{
    struct hs_hub *hub = ctx;
    /* The oldest one first: it gets the process. */
    for (size_t i = 0; i < hub->session_count; i++) {
        if (is_waiting(hub->sessions[i])) {
            hs_hub_take_newcomer(hub, hub->sessions[i], pid);
        }
    }
}

uint64_t hs_hub_look_for_newcomers(struct hs_hub *hub, uint64_t now_ns)
{
    size_t i = 0;
    while (i < hub->session_count && !is_waiting(hub->sessions[i])) {
        i++;
    }
    if (i == hub->session_count) {
        hub->newcomers = hs_newcomers_free(hub->newcomers);
    }
    if (!hub->newcomers) {
        return UINT64_MAX;
    }
    return hs_newcomers_look(hub->newcomers, now_ns, on_newcomer, hub);
}
