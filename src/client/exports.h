/*
 * Symbols of the C library, and of the allocator that serves malloc, redirected to our hooks.
 *
 * Where we are preloaded, a call of malloc is bound to our hook before anything else; where we came later, such calls
 * are led to us (patch.h). Two kinds of look-up pass by that: a
 * library opened with RTLD_DEEPBIND binds to its own dependencies first, and dlsym(3) with a handle looks in one
 * library only. Both read the symbol table of the library that defines the function. So the entries of the functions
 * that we hook are changed there, in this process's private copy of these pages: each entry names our hook, and
 * whoever looks it up from then on, constructors of a library that is being opened included, is bound to the hook.
 *
 * Where another allocator serves malloc, the C library's functions still belong to the C library: its entries lead to
 * hooks that call its own functions (own_hooks.h), those of the serving library to the hooks that everybody calls.
 *
 * Not an interposer in between: only the library that serves and the C library are changed. What looks for the next
 * definition after its own (RTLD_NEXT) finds the C library's hook, which calls the C library and nothing else; so no
 * call comes back to where it came from.
 *
 * Holds     what our own look-ups (linkmap.h) find are the original functions.
 * Threads   one, while we start. Others may be looking symbols up: they find the one or the other.
 * Fails     an entry that cannot be changed stays, and is told by the result; the program goes on as it was.
 * See       docs/adr/0023-redirected-symbols.md
 */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* Before that, hs_real is resolved. False: not all of them could be changed. */
__attribute__((weak)) bool hs_exports_redirect(void);

/* Sets all back. What was bound to a hook meanwhile stays so. */
void hs_exports_restore(void);

/* Has an object been loaded since the start that defines malloc, and is neither the C library nor what serves? A library
 * opened with RTLD_DEEPBIND is bound to it, if it came as its dependency. Takes the loader's lock. */
bool hs_exports_has_other_allocator(void);

/* What the symbol's value was before it was changed, which is its value now for all but a few. (Both weak: what tests link is the
 * client without its hooks.) */
__attribute__((weak)) uint64_t hs_exports_value(const ElfW(Sym) * symbol);
