/*
 * Detours: an allocator's entries lie in the executable, and a jump written there leads to our
 * hooks.
 *
 * Instead of these entries, the hooks call code that the collector made for the purpose
 * (arch/detour.h) and that is placed here into pages of its own. This code does what the entries
 * do, whether they have been changed or not. It stays, from before the first entry is changed, and
 * a second session finds it.
 *
 * Detours of an allocator that has names of its own lead to hooks of its own (own_hooks.h).
 *
 * Ensures   hs_real calls none of the entries once there are detours.
 * Threads   one thread adds them, once, before anything leads to our hooks; any may look them up.
 * See       fmt/ctl_layout.h, docs/adr/0014-detours.md
 */
#pragma once

#include "fmt/ctl_layout.h"

/* The detours of this process, which the collector reads from outside. */
extern struct hs_detours_v1 heapscope_detours_v1;

/* Adds detours, as HS_DETOUR_ENTRY describes; 0 or -errno. Nothing may yet have been learned about
 * what operators call inside. */
int hs_detours_add(const struct hs_detour_request_v1 *request);

/* The code to call for a function of the process's allocator; NULL: it has no detour. */
void *hs_detours_real(const char *name);
