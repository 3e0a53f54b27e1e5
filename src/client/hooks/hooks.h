/*
 * The interface between the two halves of each hook.
 *
 * The exported function (hooks.c, hooks_new.c; some in src/arch) is the hot half. It forwards to
 * the real function, or jumps to hs_entry_* (src/arch). hs_entry_* saves the caller's registers,
 * from which the stack is walked, and calls hs_slow_* with a pointer to them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/regs.h"
#include "rt/base.h"

/* Gives a hook a second name, hs_hook_*, which no other library's definition can take precedence
 * over: see hook_table.h. */
#define HS_HOOK_NAME(function)                                                                     \
    __asm__(".globl hs_hook_" #function "\n\t.hidden hs_hook_" #function                           \
            "\n\t.set hs_hook_" #function ", " #function);

/*
 * The entries of the slow halves (src/arch). Each takes the arguments of the function that it is
 * named after and returns what that function returns.
 */

/* The entry of malloc()'s slow half. */
void *hs_entry_malloc(size_t size_bytes);
/* The entry of calloc()'s slow half; the product does not overflow. */
void *hs_entry_calloc(size_t count, size_t size_bytes);
/* The entry of realloc()'s slow half. */
void *hs_entry_realloc(void *ptr, size_t size_bytes);
/* The entry of reallocarray()'s slow half; `total_bytes`: the product of its two sizes. */
void *hs_entry_reallocarray(void *ptr, size_t total_bytes);
/* The entry of memalign()'s slow half. */
void *hs_entry_memalign(size_t align_bytes, size_t size_bytes);
/* The entry of posix_memalign()'s slow half. */
int hs_entry_posix_memalign(void **ret_ptr, size_t align_bytes, size_t size_bytes);
/* The entry of aligned_alloc()'s slow half. */
void *hs_entry_aligned_alloc(size_t align_bytes, size_t size_bytes);
/* The entry of valloc()'s slow half. */
void *hs_entry_valloc(size_t size_bytes);
/* The entry of pvalloc()'s slow half. */
void *hs_entry_pvalloc(size_t size_bytes);

/*
 * The slow halves, which only hs_entry_* calls. Each calls the real function, records the outcome
 * if it is sampled, and returns what the real function returned, with errno as that left it.
 * `regs`: the caller's registers at the return from the hook.
 */

/* Slow half of malloc(). */
void *hs_slow_malloc(size_t size_bytes, const struct hs_regs *regs);
/* Slow half of calloc(); the product does not overflow. */
void *hs_slow_calloc(size_t count, size_t size_bytes, const struct hs_regs *regs);
/* Slow half of realloc(). */
void *hs_slow_realloc(void *ptr, size_t size_bytes, const struct hs_regs *regs);
/* Slow half of reallocarray(); sets ENOMEM if the real realloc fails. */
void *hs_slow_reallocarray(void *ptr, size_t total_bytes, const struct hs_regs *regs);
/* Slow half of memalign(). */
void *hs_slow_memalign(size_t align_bytes, size_t size_bytes, const struct hs_regs *regs);
/* Slow half of posix_memalign(). */
int hs_slow_posix_memalign(void **ret_ptr, size_t align_bytes, size_t size_bytes,
                           const struct hs_regs *regs);
/* Slow half of aligned_alloc(). */
void *hs_slow_aligned_alloc(size_t align_bytes, size_t size_bytes, const struct hs_regs *regs);
/* Slow half of valloc(). */
void *hs_slow_valloc(size_t size_bytes, const struct hs_regs *regs);
/* Slow half of pvalloc(). */
void *hs_slow_pvalloc(size_t size_bytes, const struct hs_regs *regs);

/* hs_slow_malloc for a function of the program that requests more from malloc than its own caller
 * asked for: `padded_bytes` are requested, `size_bytes` are recorded. */
void *hs_slow_malloc_padded(size_t padded_bytes, size_t size_bytes, const struct hs_regs *regs);
/* The same for hs_slow_aligned_alloc. */
void *hs_slow_aligned_alloc_padded(size_t align_bytes, size_t padded_bytes, size_t size_bytes,
                                   const struct hs_regs *regs);

/* True once the real aligned_alloc was seen to call other hooked functions: from then on each call
 * of it must take the slow half. */
extern HS_HIDDEN bool hs_does_aligned_alloc_call;

/* The hook of one of C++'s operators new: see hooks_new.c. */
struct hs_new_hook;
/* The entry of its slow half. `arg1` and `arg2`: the alignment or the nothrow tag, if any. */
void *hs_entry_new(size_t size_bytes, size_t arg1, size_t arg2, struct hs_new_hook *hook);
/* Slow half of an operator new. May throw as the real operator does. */
void *hs_slow_new(size_t size_bytes, size_t arg1, size_t arg2, struct hs_new_hook *hook,
                  const struct hs_regs *regs);

/* Called before those system calls that syscall() makes and that the client must know of. The hook
 * of syscall() lies in src/arch. Where its last argument would lie is memory of the caller if the
 * call has fewer arguments, so the hook must not touch it. */
void hs_slow_syscall(long number, unsigned long arg1, unsigned long arg2);

/* What dlsym(RTLD_NEXT, name) must return to the executable. NULL: what the real dlsym returns. */
void *hs_slow_next_symbol(const char *name, uint64_t caller_va);

/* Called before a dlsym(), when dlopen() may have loaded objects that must be redirected. */
void hs_slow_new_objects(void);

/* Called before each dlmopen(). `namespace_id`: its first argument. */
void hs_slow_dlmopen(long namespace_id);
