/*
 * Has a process loaded or unloaded libraries since the last look? By its loader's list, read from outside: about a
 * microsecond for each library, and nothing is stopped.
 *
 * Holds     what is read is foreign: a list that makes no sense is one that has not changed.
 * Threads   no state but the struct.
 * Fails     says no.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hs_library_watch {
    uint64_t debug_va; /* the loader's struct r_debug; 0: not looked for yet */
    uint64_t hash;     /* of its list */
    bool is_hopeless;  /* it has none, or we may not read it */
};

/* The first look, of zeroes, says no. */
bool hs_library_watch_look(struct hs_library_watch *watch, pid_t pid);
