/*
 * Finds this program's own files without a built-in path, so that the installed tree can be moved
 * anywhere.
 *
 * bin/heapscope looks next to itself: ../lib/NAME, relative to /proc/self/exe. If that file does
 * not exist (the binary was copied out of its tree), the folder configured at build time is tried.
 * The environment variable HEAPSCOPE_LIB, a folder, takes precedence over both: for tests and
 * unusual layouts.
 *
 * Threads   any; no state.
 * Fails     -ENOENT: in none of these folders; -ENAMETOOLONG. The output is then unchanged.
 */
#pragma once

#include <stddef.h>

/* The client, which is preloaded into programs or loaded into processes. */
#define HS_PRELOAD_NAME "libheapscope_preload.so"

/* Writes the absolute path of a readable file of this name in lib/. Returns 0 or -errno. */
int hs_selfpath_find_lib(const char *name, char *ret_path, size_t path_bytes);
