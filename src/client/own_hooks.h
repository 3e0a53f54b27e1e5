/*
 * Hooks for the functions of an allocator in the executable that goes by names of its own: je_malloc, mi_free_size.
 *
 * Such an allocator stands beside the C library's, which the libraries use: so its hooks do not call what hs_real says,
 * but each its own function. Nothing but detours leads to them (client/detours.h). A block is freed where it came from,
 * by either; the tables know it by its address.
 *
 * The functions may call each other, and malloc: each looks (nested_hook.h).
 *
 * The C library's own functions have such hooks as well: under its second names (__libc_malloc), which pass by whatever
 * else serves malloc, and for objects that bind to the C library where another allocator serves (exports.h).
 *
 * Holds     what a hook has to call is there before anything leads to it, and stays.
 * Threads   any; also signal handlers. One sets what is to be called, once.
 * Fails     never differently from the real function; errno is the real function's.
 * See       fmt/allocator_functions.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/regs.h"

struct hs_own_hook;

/* The function of this number of the list is this. False: there is none of this number. (Weak: what tests link is the
 * client without its hooks.) */
__attribute__((weak)) bool hs_own_hooks_set(uint32_t number, uint64_t real_va);

/* The C library is `libc` (NULL: an unknown one). Weak, as above. */
struct link_map;
__attribute__((weak)) void hs_own_hooks_bind_libc(const struct link_map *libc);

/* The hook that calls the C library's own function of this name, whatever serves malloc. NULL: there is none. */
__attribute__((weak)) void *hs_own_hooks_of_libc(const char *name);

/* The slow half: src/arch. What the functions give is a pointer, a size, an error or nothing. */
uint64_t hs_entry_own(uint64_t arg0, uint64_t arg1, uint64_t arg2, uint64_t arg3,
                      struct hs_own_hook *hook);
uint64_t hs_slow_own(uint64_t arg0, uint64_t arg1, uint64_t arg2, uint64_t arg3,
                     struct hs_own_hook *hook, const struct hs_regs *regs);
