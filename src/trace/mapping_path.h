/*
 * The name of a mapping: how a trace stores a module's path, and how readers put it together again.
 *
 * A trace stores a path as its components, without the slashes. A reader joins the components with
 * a slash before each. So "/usr//lib/libc.so.6" is stored as usr, lib, libc.so.6 and is read back
 * as "/usr/lib/libc.so.6"; "[anon]" is read back as "/[anon]". Symbols find their mapping by that
 * name alone. Therefore the writer and the readers use only these functions for names of mappings.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stddef.h>

/* Path of the mapping whose frames mark a stack that was cut short. Other heap profilers use the
 * same path. */
#define HS_MAPPING_ERROR "/ERROR"
/* Path of the mapping whose frames name a heap; see docs/FORMAT.md, "Several heaps". */
#define HS_MAPPING_HEAP "[heapscope]"

/* Finds the next component of *path and advances *path past it. Returns the component's length in
 * bytes, 0 at the end of the path. */
size_t hs_mapping_component(const char **path, const char **ret_start);

/* The name that a reader of the trace gives to the mapping of this path; "" for an empty path. The
 * result is malloc'ed; NULL when out of memory. */
char *hs_mapping_name(const char *path);

/* The name as reports show it: "[anon]" instead of "/[anon]". The result points into `name`. */
const char *hs_mapping_shown(const char *name);
