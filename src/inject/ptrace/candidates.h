/*
 * The threads of a process, best candidate for borrowing first, judged by what can be seen without
 * stopping them.
 *
 * Threads   no state.
 * Fails     -errno of reading /proc/PID/task; -ENOMEM.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "inject/ptrace/wait_kind.h"

struct hs_candidate {
    pid_t tid;
    struct hs_wait wait;
};

struct hs_candidates {
    struct hs_candidate *items;
    size_t count;
    size_t capacity;
};

/* Lists the threads of `pid`, best first, in place of what *candidates held. A zeroed struct is an
 * empty list. 0 or -errno. */
int hs_candidates_load(pid_t pid, struct hs_candidates *candidates);
/* Frees the list. */
void hs_candidates_deinit(struct hs_candidates *candidates);
