/*
 * Finds out whether a process has loaded or unloaded libraries since the last look. The answer
 * comes from the loader's list, which is read from outside: about a microsecond per library, and no
 * thread is stopped.
 *
 * Ensures   what is read comes from another process: a list that makes no sense counts as
 *           unchanged.
 * Threads   no state outside the struct.
 * Fails     returns false.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hs_library_watch {
    uint64_t debug_va; /* address of the loader's struct r_debug; 0: not searched yet */
    uint64_t hash;     /* hash of the loader's list */
    bool is_hopeless;  /* the process has no such list, or heapscope may not read it */
};

/* True when the list of `pid` has changed since the last call. The first call, with a zeroed
 * *watch, returns false. */
bool hs_library_watch_look(struct hs_library_watch *watch, pid_t pid);
