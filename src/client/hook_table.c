/*
 * The hooks' own addresses. See hook_table.h.
 */
#include "client/hook_table.h"

#define HOOKS(HOOK)                                                                                \
    HOOK(malloc)                                                                                   \
    HOOK(calloc)                                                                                   \
    HOOK(realloc)                                                                                  \
    HOOK(reallocarray)                                                                             \
    HOOK(free)                                                                                     \
    HOOK(free_sized)                                                                               \
    HOOK(free_aligned_sized)                                                                       \
    HOOK(cfree)                                                                                    \
    HOOK(memalign)                                                                                 \
    HOOK(posix_memalign)                                                                           \
    HOOK(aligned_alloc)                                                                            \
    HOOK(valloc)                                                                                   \
    HOOK(pvalloc)                                                                                  \
    HOOK(_Znwm)                                                                                    \
    HOOK(_Znam)                                                                                    \
    HOOK(_ZnwmRKSt9nothrow_t)                                                                      \
    HOOK(_ZnamRKSt9nothrow_t)                                                                      \
    HOOK(_ZnwmSt11align_val_t)                                                                     \
    HOOK(_ZnamSt11align_val_t)                                                                     \
    HOOK(_ZnwmSt11align_val_tRKSt9nothrow_t)                                                       \
    HOOK(_ZnamSt11align_val_tRKSt9nothrow_t)                                                       \
    HOOK(_ZdlPv)                                                                                   \
    HOOK(_ZdaPv)                                                                                   \
    HOOK(_ZdlPvm)                                                                                  \
    HOOK(_ZdaPvm)                                                                                  \
    HOOK(_ZdlPvRKSt9nothrow_t)                                                                     \
    HOOK(_ZdaPvRKSt9nothrow_t)                                                                     \
    HOOK(_ZdlPvSt11align_val_t)                                                                    \
    HOOK(_ZdaPvSt11align_val_t)                                                                    \
    HOOK(_ZdlPvmSt11align_val_t)                                                                   \
    HOOK(_ZdaPvmSt11align_val_t)                                                                   \
    HOOK(_ZdlPvSt11align_val_tRKSt9nothrow_t)                                                      \
    HOOK(_ZdaPvSt11align_val_tRKSt9nothrow_t)                                                      \
    HOOK(dlclose)                                                                                  \
    HOOK(prctl)                                                                                    \
    HOOK(syscall)                                                                                  \
    HOOK(dlopen)                                                                                   \
    HOOK(dlsym)                                                                                    \
    HOOK(dlvsym)

/* Each has a second, hidden name: HS_HOOK_NAME in hooks.h. */
#define DECLARE(name) void hs_hook_##name(void) HS_HIDDEN;
HOOKS(DECLARE)

#define ENTER(name) { #name, (void *)hs_hook_##name },
const struct hs_hook hs_hooks[] = { HOOKS(ENTER) };
const uint32_t hs_hook_count = HS_COUNT_OF(hs_hooks);
