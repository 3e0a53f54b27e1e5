/*
 * The name of a mapping: how a module's path is split for a trace, and what it is called after.
 *
 * A trace holds paths as components without slashes; a reader joins them with a slash before each. So
 * "/usr//lib/libc.so.6" becomes usr, lib, libc.so.6 and is named "/usr/lib/libc.so.6" ever after;
 * "[anon]" is named "/[anon]". Symbols find their mapping by that name alone, so both sides of a trace
 * use these functions and nothing else.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stddef.h>

/* Path of the frames that are no code: markers for cut stacks, as other heap profilers name it. */
#define HS_MAPPING_ERROR "/ERROR"
/* Path of the frames that tell heaps apart; see docs/FORMAT.md, "Several heaps". */
#define HS_MAPPING_HEAP "[heapscope]"

/* The next component of *path, which moves behind it. Returns its length, 0 at the end. */
size_t hs_mapping_component(const char **path, const char **ret_start);

/* The name a reader of the trace gives it; "" for no path. Malloc'ed; NULL when out of memory. */
char *hs_mapping_name(const char *path);

/* The other way: a name as people know it, "[anon]" and not "/[anon]". Points into `name`. */
const char *hs_mapping_shown(const char *name);
