/*
 * Which function each hook of hooks/own_hooks.h calls.
 *
 * hooks/own_hooks.c defines these hooks and their tables; hook_table.h lists all other hooks by
 * name.
 *
 * Requires  the function that a hook has to call is set before any call can reach the hook. The
 *           hooks of the C library are bound by the first call of one of them, or before.
 * Threads   any; one thread sets the functions of detours, once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/allocator_functions.h"
#include "rt/base.h"

/* Arguments that a function does not have are passed on with whatever is in their registers. */
typedef uint64_t (*hs_own_fn)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

/* A hook. */
struct hs_own_hook {
    hs_own_fn real;
    enum hs_function_kind kind;
    bool does_call;  /* it calls other hooked functions: see hooks/nested_hook.h */
    uint8_t heap_id; /* of its blocks; 0: they are malloc's */
    bool is_carved;  /* that heap lies in others' blocks: what it takes from them is theirs, too */
};

/* A hook of a function of the C library. */
struct hs_libc_hook {
    const char *name;
    struct hs_own_hook *hook;
    hs_own_fn function; /* the hook itself */
};

/* The hooks to which detours lead, by number. */
extern HS_HIDDEN struct hs_own_hook *const hs_own_hooks[];
extern HS_HIDDEN const uint32_t hs_own_hook_count;
/* The hooks of the C library's functions under their second names (__libc_malloc); an allocator may
 * define these names, too, and is found like all others. */
extern HS_HIDDEN const struct hs_libc_hook hs_libc_second_hooks[];
extern HS_HIDDEN const uint32_t hs_libc_second_hook_count;
/* The hooks of the C library's own functions, whichever allocator serves malloc. */
extern HS_HIDDEN const struct hs_libc_hook hs_libc_first_hooks[];
extern HS_HIDDEN const uint32_t hs_libc_first_hook_count;

/* Sets the function that hook `number` calls. False: there is no hook of this number. (Weak: tests
 * link the client without its hooks.) */
__attribute__((weak)) bool hs_own_hook_table_set(uint32_t number, uint64_t real_va);

/* Says which heap the hooks of a set belong to: they are those of an allocator with a prefix.
 * (Weak, as above.) */
__attribute__((weak)) void hs_own_hook_table_set_heap(uint32_t set, uint8_t heap_id,
                                                      bool is_carved);

/* Finds the functions that the C library's hooks call. hs_real is resolved. Weak, as above. */
__attribute__((weak)) void hs_own_hook_table_bind_libc(void);

/* The hook that calls the C library's own function of this name, whichever allocator serves malloc.
 * NULL: there is none. */
void *hs_own_hook_table_of_libc(const char *name);
