/*
 * Symbol table entries of the C library, and of the allocator that serves malloc, redirected to our
 * hooks.
 *
 * If the client is preloaded, calls of malloc are bound to our hook; if it was loaded later, such
 * calls are redirected (patch.h). Two kinds of look-up bypass both: a library opened with
 * RTLD_DEEPBIND binds to its own dependencies first, and dlsym(3) with a handle looks in one
 * library only. Both read the symbol table of the library that defines the function. So the entries
 * of the hooked functions are changed there, in this process's private copy of these pages. Each
 * entry then names our hook, and every later look-up is bound to the hook, also those of a library
 * that is just being opened and whose constructors have not run.
 *
 * If another allocator serves malloc, the C library's functions still belong to the C library: its
 * entries lead to hooks that call its own functions (own_hook_table.h), while those of the serving
 * library lead to the hooks that all calls use.
 *
 * A library between the two that wraps malloc (an interposer) keeps its entries: only those of the
 * serving library and of the C library are changed. A look-up of the next definition after the
 * caller's own (RTLD_NEXT) finds the C library's hook, which calls the C library and nothing else;
 * so no call comes back to where it came from.
 *
 * Holds     our own look-ups (linkmap.h) find the original functions.
 * Threads   one, while the client starts. Other threads may be looking symbols up: they find the
 *           old value or the new one.
 * Fails     an entry that cannot be changed stays, and the result says so; the program goes on as
 *           before.
 * See       docs/adr/0023-redirected-symbols.md
 */
#pragma once

#include <stdbool.h>

/* Changes the entries. hs_real must be resolved. False: not all of them could be changed. (Weak:
 * tests link the client without its hooks.) */
__attribute__((weak)) bool hs_exports_redirect(void);

/* Sets all entries back. What was bound to a hook meanwhile stays bound to it. */
void hs_exports_restore(void);

/* Has an object been loaded since the start that defines malloc and is neither the C library nor
 * the serving library? A library opened with RTLD_DEEPBIND is bound to it if it came as its
 * dependency. Takes the loader's lock. */
bool hs_exports_has_other_allocator(void);
