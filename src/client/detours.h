/*
 * Detours: the allocator's entries lie in the executable and lead to our hooks.
 *
 * What the hooks call instead of these entries is code that was made for it from outside (arch/detour.h) and is put
 * here into pages of its own. It does what the entries do whether they have been changed or not; so it is there to
 * stay, from before the first is changed, and a second session finds it.
 *
 * Those of an allocator by names of its own lead to hooks of its own (own_hooks.h).
 *
 * Holds     hs_real calls none of the entries from when there are detours.
 * Threads   one adds them, once, before anything leads to our hooks; any may ask.
 * See       fmt/ctl_layout.h, docs/adr/0014-detours.md
 */
#pragma once

#include "fmt/ctl_layout.h"

extern struct hs_detours_v1 heapscope_detours_v1;

/* As HS_DETOUR_ENTRY. Of what operators do inside nothing must be known yet. */
int hs_detours_add(const struct hs_detour_request_v1 *request);

/* What to call for the function of the process's allocator; NULL: it has no detour. */
void *hs_detours_real(const char *name);
