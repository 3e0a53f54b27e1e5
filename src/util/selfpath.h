/*
 * Where this program's own files are, without a path built in: the tree can be moved anywhere.
 *
 * bin/heapscope looks next to itself: ../lib/NAME as /proc/self/exe sees it. When that is not there
 * (the binary was copied out of its tree), the folder configured at build time is tried. The
 * environment variable HEAPSCOPE_LIB, a folder, comes before both: for tests and odd layouts.
 *
 * Threads   any; no state.
 * Fails     -ENOENT in none of the places, -ENAMETOOLONG; the output is then untouched.
 */
#pragma once

#include <stddef.h>

/* Absolute path of a readable file of this name in lib/. */
int hs_selfpath_find_lib(const char *name, char *ret_path, size_t path_bytes);
