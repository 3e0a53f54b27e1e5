/*
 * The libraries that a program will need, found the way the dynamic loader finds them, without running it.
 *
 * Breadth first from the program's DT_NEEDED, each looked for in
 *
 *   1. DT_RPATH of the file that needs it and of those it was needed by, unless it has a DT_RUNPATH
 *   2. LD_LIBRARY_PATH
 *   3. DT_RUNPATH of the file that needs it
 *   4. ld.so.cache, then the loader's own folders
 *
 * with $ORIGIN, $LIB and $PLATFORM in them. A library counts when it is a 64-bit one for this machine; its name
 * is looked up once, however many need it. What a program opens while it runs (dlopen) cannot be known.
 *
 * Trust     the files are foreign: sizes are libelf's to check, the number of libraries is bounded.
 * Threads   none.
 * Fails     -errno of opening the program, -ENOMEM.
 * See       ld.so(8), util/ld_cache.h
 */
#pragma once

#include <stddef.h>

struct hs_library {
    char *name;           /* as it was asked for: "libc.so.6"; of the program itself, its path */
    char *path;           /* NULL: not found */
    size_t needed_by_idx; /* of the one that asked first; the program's own is 0 */
};

struct hs_libraries {
    struct hs_library *items; /* the program comes first */
    size_t count, capacity;
};

struct hs_library_options {
    const char *library_path; /* LD_LIBRARY_PATH; NULL none */
    const char *cache_folder; /* of ld.so.cache; NULL: /etc */
};

int hs_library_search(const char *program, const struct hs_library_options *options,
                      struct hs_libraries *ret_libraries);

void hs_libraries_deinit(struct hs_libraries *libraries);
