/*
 * The hooks through which the client notices a seccomp filter, just before it is installed. See
 * sandbox.h.
 *
 * Threads   any.
 * Fails     only as the real functions fail.
 */
#include <assert.h>
#include <link.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "client/hooks/hooks.h"
#include "client/host/real.h"
#include "client/host/sandbox.h"
#include "client/life/lifecycle.h"
#include "client/tables/modules.h"
#include "client/tables/region.h"
#include "client/thread/thread.h"

static int on_object(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    (void)bytes;
    (void)ctx;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            hs_modules_id_at((const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr));
        }
    }
    return 0;
}

/* Looks up now what would need system calls later. The loader's lock keeps each listed object
 * mapped. */
static void look_around(void)
{
    struct hs_frame_marker mark;
    if (!hs_lifecycle_is_on() || !hs_reentry_guard_enter(&mark)) {
        return;
    }
    hs_thread_self();
    dl_iterate_phdr(on_object, NULL);
    hs_reentry_guard_leave();
}

static HS_COLD void enter(bool is_strict)
{
    if (hs_life_state_is_waiting()) {
        hs_lifecycle_follow_fork(); /* afterwards it could not */
    }
    look_around();
    hs_store_relaxed(&hs_sandbox_is_in, true);
    if (is_strict && hs_lifecycle_is_on()) {
        hs_region_set_interval(HS_INTERVAL_OFF);
    }
}

/* Does the system call change which system calls may be made? One that diverts those made outside
 * the C library to a handler of the program (an emulator of another system) restricts the client as
 * much as the strict mode does. */
static void look_at_prctl(unsigned long option, unsigned long arg2)
{
    if (hs_unlikely(option == PR_SET_SECCOMP)) {
        enter(arg2 == SECCOMP_MODE_STRICT);
    } else if (hs_unlikely(option == PR_SET_SYSCALL_USER_DISPATCH && arg2 != PR_SYS_DISPATCH_OFF)) {
        enter(true);
    }
}

/* As the C library declares it, with all possible arguments. */
int hs_hook_prctl(int option, unsigned long arg2, unsigned long arg3, unsigned long arg4,
                  unsigned long arg5) __asm__("prctl");

HS_EXPORT int hs_hook_prctl(int option, unsigned long arg2, unsigned long arg3, unsigned long arg4,
                            unsigned long arg5)
{
    look_at_prctl((unsigned)option, arg2);
    return hs_real.prctl(option, arg2, arg3, arg4, arg5);
}

HS_HOOK_NAME(prctl)

static_assert(offsetof(struct hs_real, syscall) == 104 && offsetof(struct hs_real, dlopen) == 112 &&
                  offsetof(struct hs_real, dlsym) == 120 &&
                  offsetof(struct hs_real, dlvsym) == 128 &&
                  offsetof(struct hs_real, dlmopen) == 136 &&
                  offsetof(struct hs_real, is_preloaded) == 145 &&
                  offsetof(struct hs_real, is_defined_in_program) == 147,
              "REAL_..._OFF in entry.S");

void hs_slow_syscall(long number, unsigned long arg1, unsigned long arg2)
{
    hs_real_resolve();
    if (number == SYS_prctl) {
        look_at_prctl(arg1, arg2);
    } else if (number == SYS_seccomp &&
               (arg1 == SECCOMP_SET_MODE_FILTER || arg1 == SECCOMP_SET_MODE_STRICT)) {
        enter(arg1 == SECCOMP_SET_MODE_STRICT);
    }
}
