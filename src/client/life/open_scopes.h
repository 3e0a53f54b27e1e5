/*
 * The scopes that the running thread has open, as libheapscope.so keeps them (fmt/api_scopes.h).
 *
 * A sample looks only if the thread's must_look is set. That is so at its first sample, after the
 * library has told that the thread opens a scope, and after another copy of the library was found.
 * A look that finds no open scope clears it (unless lifetimes are measured, for which samples look
 * as well), and has the library tell of the next one.
 *
 * In a process with several copies of the library, the scopes of the copy that was found first are
 * outermost.
 *
 * Threads   the thread itself, inside the guard (thread.h); async-signal-safe.
 */
#pragma once

#include <stdint.h>

struct hs_thread;

/* The id of the innermost open scope, 0: none is open. HS_SCOPE_OTHER: there is no room for it. */
uint32_t hs_open_scopes_find(struct hs_thread *thread);

/* What the library calls: the running thread opens a scope. Any context. */
void hs_open_scopes_note(void);
