/*
 * Connecting to the collector that the environment names, or else to a daemon. See
 * collector_connect.h.
 */
#include "client/life/collector_connect.h"

#include <sys/auxv.h>

#include "client/host/real.h"
#include "client/life/own_heaps.h"
#include "client/life/register.h"
#include "client/patch/detours.h"
#include "fmt/ctl_layout.h"
#include "fmt/region_layout.h"
#include "rt/sys.h"

bool hs_collector_connect_find(const struct hs_env *env, struct hs_collector_connect *ret_collector)
{
    ret_collector->sock = -1;
    ret_collector->is_late = false;
    ret_collector->heaps = NULL;
    if (!env->is_profileable) {
        return false;
    }
    if (env->collector) {
        ret_collector->name = env->collector;
        ret_collector->interval_bytes = env->interval_bytes;
        return env->interval_bytes != 0;
    }
    if (!hs_daemon_lookup_find(env, &ret_collector->daemon)) {
        return false;
    }
    ret_collector->name = ret_collector->daemon.path;
    ret_collector->sock = ret_collector->daemon.sock;
    ret_collector->interval_bytes = ret_collector->daemon.startup_interval_bytes;
    ret_collector->heaps = ret_collector->daemon.startup_heaps;
    return true;
}

static uint32_t flags_for(const struct hs_collector_connect *collector)
{
    if (collector->interval_bytes == HS_INTERVAL_OFF) {
        return HS_HELLO_DORMANT;
    }
    /* A daemon does not help with detours. And the environment must not delay a process that runs
     * with other rights than those of the process that started it. */
    bool is_daemon = collector->sock >= 0;
    return hs_real.has_own_malloc && !is_daemon && getauxval(AT_SECURE) == 0 ? HS_HELLO_WAITS : 0;
}

int hs_collector_connect_announce(struct hs_collector_connect *collector, int fd)
{
    uint32_t flags = flags_for(collector);
    if (collector->sock < 0) {
        collector->sock = hs_register_connect(collector->name, HS_CTL_CONNECT_MAX);
    }
    int err = collector->sock < 0 ? collector->sock : hs_register_send(collector->sock, fd, flags);
    if (!err && flags & HS_HELLO_WAITS) {
        hs_detours_serve(collector->sock);
        hs_own_heaps_name();
    }
    return err;
}

void hs_collector_connect_leave(const struct hs_collector_connect *collector)
{
    if (collector->sock >= 0) {
        hs_sys_close(collector->sock);
    }
}
