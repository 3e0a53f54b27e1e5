/*
 * The addresses of the hooks. See hook_table.h.
 */
#include "client/patch/hook_table.h"

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
    HOOK(dlvsym)                                                                                   \
    HOOK(dlmopen)                                                                                  \
    HOOK(mmap)                                                                                     \
    HOOK(mmap64)                                                                                   \
    HOOK(munmap)                                                                                   \
    HOOK(mremap)                                                                                   \
    HOOK(mprotect)                                                                                 \
    HOOK(pkey_mprotect)                                                                            \
    HOOK(brk)                                                                                      \
    HOOK(sbrk)                                                                                     \
    HOOK(__libc_malloc)                                                                            \
    HOOK(__libc_calloc)                                                                            \
    HOOK(__libc_realloc)                                                                           \
    HOOK(__libc_free)                                                                              \
    HOOK(__libc_memalign)                                                                          \
    HOOK(__libc_valloc)                                                                            \
    HOOK(__libc_pvalloc)

/* Each hook has a second, hidden name: HS_HOOK_NAME in hooks.h. */
#define DECLARE(name) void hs_hook_##name(void) HS_HIDDEN;
HOOKS(DECLARE)

#define ENTER(name) { #name, (void *)hs_hook_##name },
const struct hs_hook hs_hooks[] = { HOOKS(ENTER) };
const uint32_t hs_hook_count = HS_COUNT_OF(hs_hooks);

/* The linker's names for the start of the library and the end of its code. */
extern const char __ehdr_start[] HS_HIDDEN;
extern const char etext[] HS_HIDDEN;

bool hs_hook_table_is_own_code(uint64_t pc)
{
    return pc >= (uint64_t)__ehdr_start && pc < (uint64_t)etext;
}
