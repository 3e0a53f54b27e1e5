/*
 * The hooks through which a seccomp filter is noticed, just before it is there. See sandbox.h.
 *
 * Threads   any.
 * Fails     never differently from the real functions.
 */
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "client/lifecycle.h"
#include "client/linkmap.h"
#include "client/modules.h"
#include "client/real.h"
#include "client/region.h"
#include "client/sandbox.h"
#include "client/thread.h"

/* What we would otherwise ask the kernel later. */
static void look_around(void)
{
    struct hs_mark mark;
    if (!hs_lifecycle_is_on() || !hs_guard_enter(&mark)) {
        return;
    }
    hs_thread_self();
    for (const struct link_map *map = hs_linkmap_first(); map; map = map->l_next) {
        hs_modules_id_at(map->l_ld);
    }
    hs_guard_leave();
}

static void stop_recording(void)
{
    struct hs_region_control_v1 *control = &hs_control_page.control;
    control->interval_bytes = HS_INTERVAL_OFF;
    /* ORDER settings: the interval before its generation. */
    hs_store_release(&control->generation, control->generation + 1);
    hs_add_relaxed(&control->floor_bytes, HS_FLOOR_STEP);
}

static HS_COLD void enter(bool is_strict)
{
    look_around();
    hs_store_relaxed(&hs_sandbox_is_in, true);
    if (is_strict && hs_lifecycle_is_on()) {
        stop_recording();
    }
}

/* As the C library declares them, with all the arguments that there may be. */
int hs_hook_prctl(int option, unsigned long arg2, unsigned long arg3, unsigned long arg4,
                  unsigned long arg5) __asm__("prctl");
long hs_hook_syscall(long number, long arg1, long arg2, long arg3, long arg4, long arg5,
                     long arg6) __asm__("syscall");

HS_EXPORT int hs_hook_prctl(int option, unsigned long arg2, unsigned long arg3, unsigned long arg4,
                            unsigned long arg5)
{
    if (hs_unlikely(option == PR_SET_SECCOMP)) {
        enter(arg2 == SECCOMP_MODE_STRICT);
    }
    return hs_real.prctl(option, arg2, arg3, arg4, arg5);
}

HS_EXPORT long hs_hook_syscall(long number, long arg1, long arg2, long arg3, long arg4, long arg5,
                               long arg6)
{
    if (hs_unlikely(number == SYS_seccomp)) {
        if (arg1 == SECCOMP_SET_MODE_FILTER || arg1 == SECCOMP_SET_MODE_STRICT) {
            enter(arg1 == SECCOMP_SET_MODE_STRICT);
        }
    } else if (hs_unlikely(number == SYS_prctl && arg1 == PR_SET_SECCOMP)) {
        enter(arg2 == SECCOMP_MODE_STRICT);
    }
    return hs_real.syscall(number, arg1, arg2, arg3, arg4, arg5, arg6);
}
