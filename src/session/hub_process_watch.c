/*
 * Programs without a client that start, or take another name, while a session waits for programs of
 * that name. The hub notices them in /proc, and has a client brought in as into any running
 * process. See process_watch.h.
 *
 * Only sessions that wait by name take them. A session for all processes would have to attach to
 * each command that a shell starts, which is too much.
 *
 * Ensures   the hub polls /proc only while there is such a session.
 * Threads   as the hub.
 * Fails     -ENOMEM at the start of such a session.
 */
#include <errno.h>

#include "session/hub_targets.h"
#include "session/process_watch.h"

static bool is_waiting(const struct hs_session *session)
{
    const struct hs_session_settings *settings = &session->settings;
    return settings->is_attaching_started && settings->is_taking_startup &&
           settings->name_count > 0 && !settings->is_all;
}

int hs_hub_begin_new_processes(struct hs_hub *hub, const struct hs_session *session,
                               uint64_t now_ns)
{
    if (hub->watch || !hub->config.attach || !is_waiting(session)) {
        return 0;
    }
    hub->watch = hs_process_watch_new(now_ns);
    return hub->watch ? 0 : -ENOMEM;
}

static void on_new_process(void *ctx, pid_t pid)
{
    struct hs_hub *hub = ctx;
    /* The oldest session comes first, so that it gets the process. */
    for (size_t i = 0; i < hub->session_count; i++) {
        if (is_waiting(hub->sessions[i])) {
            hs_hub_take_new_process(hub, hub->sessions[i], pid);
        }
    }
}

uint64_t hs_hub_look_for_new_processes(struct hs_hub *hub, uint64_t now_ns)
{
    size_t i = 0;
    while (i < hub->session_count && !is_waiting(hub->sessions[i])) {
        i++;
    }
    if (i == hub->session_count) {
        hub->watch = hs_process_watch_free(hub->watch);
    }
    if (!hub->watch) {
        return UINT64_MAX;
    }
    return hs_process_watch_look(hub->watch, now_ns, on_new_process, hub);
}
