/*
 * Hooks for an allocator in the executable whose functions have names of their own, such as
 * je_malloc or mi_free_size.
 *
 * A process with such an allocator has two: this one, and the C library's, which the libraries use.
 * So these hooks do not call hs_real: each calls the allocator's function that it stands for. Only
 * detours lead to them (patch/detours.h). A block is freed by the allocator that it came from; the
 * tables know it by its address.
 *
 * The functions may call each other, and malloc: each hook observes whether its function does
 * (nested_hook.h).
 *
 * The C library's own functions have such hooks as well: under their second names (__libc_malloc),
 * which bypass any other allocator that serves malloc; and for objects that bind to the C library
 * when another allocator serves malloc (exports.h).
 *
 * Holds     the function that a hook has to call is set before any call can reach the hook, and is
 *           not changed later.
 * Threads   any; also signal handlers. One thread sets the functions to call, once.
 * Fails     only as the real function fails; errno is the real function's.
 * See       fmt/allocator_functions.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/regs.h"

struct hs_own_hook;

/* Is there a recorded block, of malloc's heap or of that of an allocator with a prefix, which
 * contains this address? As hs_live_covers. */
bool hs_own_hook_has_covered(uintptr_t addr);

/* The entry of the slow half (src/arch). The functions return a pointer, a size, an error or
 * nothing. */
uint64_t hs_entry_own(uint64_t arg0, uint64_t arg1, uint64_t arg2, uint64_t arg3,
                      struct hs_own_hook *hook);
/* The slow half: calls the real function, and records what it did if that is sampled. */
uint64_t hs_slow_own(uint64_t arg0, uint64_t arg1, uint64_t arg2, uint64_t arg3,
                     struct hs_own_hook *hook, const struct hs_regs *regs);
