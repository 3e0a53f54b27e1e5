/*
 * Finds the libraries that a program needs, as the dynamic loader does, without running the
 * program.
 *
 * The search is breadth first from the program's DT_NEEDED. Each library is looked for in
 *
 *   1. DT_RPATH of the file that needs it and of the files that needed this file, unless it has a
 *      DT_RUNPATH
 *   2. LD_LIBRARY_PATH
 *   3. DT_RUNPATH of the file that needs it
 *   4. ld.so.cache, then the loader's own folders
 *
 * with $ORIGIN, $LIB and $PLATFORM replaced. A library counts when it is a 64-bit one for this
 * machine. Its name is looked up once, however many files need it. Libraries that a program opens
 * while it runs (dlopen) cannot be known.
 *
 * Trust     the files are foreign: libelf checks sizes, and the number of libraries is bounded.
 * Threads   none.
 * Fails     -errno of opening the program, -ENOMEM.
 * See       ld.so(8), util/ld_cache.h
 */
#pragma once

#include <stddef.h>

struct hs_library {
    char *name;           /* the name in DT_NEEDED, "libc.so.6"; of the program itself, its path */
    char *path;           /* NULL: not found */
    size_t needed_by_idx; /* index of the first file that needs it; 0 for the program itself */
};

struct hs_libraries {
    struct hs_library *items; /* the program comes first */
    size_t count, capacity;
};

struct hs_library_options {
    const char *library_path; /* LD_LIBRARY_PATH; NULL none */
    const char *cache_folder; /* of ld.so.cache; NULL: /etc */
};

/* Finds the libraries of a program. 0 or -errno. */
int hs_library_search(const char *program, const struct hs_library_options *options,
                      struct hs_libraries *ret_libraries);

/* Frees the list. */
void hs_libraries_deinit(struct hs_libraries *libraries);
