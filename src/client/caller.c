/*
 * The collector of the environment, else a daemon. See caller.h.
 */
#include "client/caller.h"

#include "client/register.h"
#include "fmt/region_layout.h"
#include "rt/sys.h"

bool hs_caller_find(const struct hs_env *env, struct hs_caller *ret_caller)
{
    ret_caller->sock = -1;
    ret_caller->is_late = false;
    if (!env->is_profileable) {
        return false;
    }
    if (env->collector) {
        ret_caller->name = env->collector;
        ret_caller->interval_bytes = env->interval_bytes;
        return env->interval_bytes != 0;
    }
    if (!hs_door_find(env, &ret_caller->door)) {
        return false;
    }
    ret_caller->name = ret_caller->door.path;
    ret_caller->sock = ret_caller->door.sock;
    ret_caller->interval_bytes = ret_caller->door.startup_interval_bytes;
    return true;
}

int hs_caller_announce(const struct hs_caller *caller, int fd)
{
    if (caller->sock < 0) {
        return hs_register(caller->name, fd, 0);
    }
    return hs_register_send(caller->sock, fd,
                            caller->interval_bytes == HS_INTERVAL_OFF ? HS_HELLO_DORMANT : 0);
}

void hs_caller_leave(const struct hs_caller *caller)
{
    if (caller->sock >= 0) {
        hs_sys_close(caller->sock);
    }
}
