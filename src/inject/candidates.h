/*
 * The threads of a process in the order in which they are best borrowed, by what can be seen without stopping them.
 *
 * Threads   no state.
 * Fails     -errno of reading /proc/PID/task.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "inject/wait_kind.h"

struct hs_candidate {
    pid_t tid;
    struct hs_wait wait;
};

struct hs_candidates {
    struct hs_candidate *items;
    size_t count;
    size_t capacity;
};

/* Replaces what *candidates held. Zeroes are an empty one. */
int hs_candidates_load(pid_t pid, struct hs_candidates *candidates);
void hs_candidates_deinit(struct hs_candidates *candidates);
