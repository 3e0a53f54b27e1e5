/*
 * The two halves of each hook.
 *
 * The exported function (hooks.c, hooks_new.c) is the hot half: it forwards, or jumps to hs_entry_*
 * (src/arch), which saves the caller's registers and calls hs_slow_* with a pointer to them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/regs.h"
#include "rt/base.h"

/* A hook's second name, which no other definition comes before: see hook_table.h. */
#define HS_HOOK_NAME(function)                                                                     \
    __asm__(".globl hs_hook_" #function "\n\t.hidden hs_hook_" #function                           \
            "\n\t.set hs_hook_" #function ", " #function);

void *hs_entry_malloc(size_t size_bytes);
void *hs_entry_calloc(size_t count, size_t size_bytes);
void *hs_entry_realloc(void *ptr, size_t size_bytes);
void *hs_entry_reallocarray(void *ptr, size_t total_bytes);
void *hs_entry_memalign(size_t align_bytes, size_t size_bytes);
int hs_entry_posix_memalign(void **ret_ptr, size_t align_bytes, size_t size_bytes);
void *hs_entry_aligned_alloc(size_t align_bytes, size_t size_bytes);
void *hs_entry_valloc(size_t size_bytes);
void *hs_entry_pvalloc(size_t size_bytes);

void *hs_slow_malloc(size_t size_bytes, const struct hs_regs *regs);
void *hs_slow_calloc(size_t count, size_t size_bytes, const struct hs_regs *regs);
void *hs_slow_realloc(void *ptr, size_t size_bytes, const struct hs_regs *regs);
void *hs_slow_reallocarray(void *ptr, size_t total_bytes, const struct hs_regs *regs);
void *hs_slow_memalign(size_t align_bytes, size_t size_bytes, const struct hs_regs *regs);
int hs_slow_posix_memalign(void **ret_ptr, size_t align_bytes, size_t size_bytes,
                           const struct hs_regs *regs);
void *hs_slow_aligned_alloc(size_t align_bytes, size_t size_bytes, const struct hs_regs *regs);
void *hs_slow_valloc(size_t size_bytes, const struct hs_regs *regs);
void *hs_slow_pvalloc(size_t size_bytes, const struct hs_regs *regs);

/* For a function of the program's that asks malloc or aligned_alloc for more than it was asked for: what is recorded is
 * what it was asked for. */
void *hs_slow_malloc_padded(size_t padded_bytes, size_t size_bytes, const struct hs_regs *regs);
void *hs_slow_aligned_alloc_padded(size_t align_bytes, size_t padded_bytes, size_t size_bytes,
                                   const struct hs_regs *regs);

/* The real aligned_alloc was seen to call other hooked functions: each call of it has to take the slow half. */
extern HS_HIDDEN bool hs_does_aligned_alloc_call;

/* One of C++'s operators new: see hooks_new.c. `arg` is its alignment, or its nothrow tag. */
struct hs_new_hook;
void *hs_entry_new(size_t size_bytes, size_t arg1, size_t arg2, struct hs_new_hook *hook);
void *hs_slow_new(size_t size_bytes, size_t arg1, size_t arg2, struct hs_new_hook *hook,
                  const struct hs_regs *regs);

/* Of syscall(), those that are looked at before they are made. Its hook lies in src/arch: what lies where its
 * last argument would be is the caller's own when there is none, and must not be touched. */
void hs_slow_syscall(long number, unsigned long arg1, unsigned long arg2);

/* What dlsym(RTLD_NEXT, name) is to find for the executable; NULL: what the real one finds. */
void *hs_slow_next_symbol(const char *name, uint64_t caller_va);

/* Before a dlsym(), when dlopen() may have loaded what matters to us. */
void hs_slow_new_objects(void);

/* Before each dlmopen(). */
void hs_slow_dlmopen(long namespace_id);
