/*
 * Starts a program with the client preloaded, as if it had been started directly.
 *
 * This happens in two steps, so that what depends on the pid (the name of the output file) can be
 * settled before the program runs: hs_launch_fork() makes a child that waits, hs_launch_go() lets
 * it execute the program. The child keeps heapscope's process group, terminal, working directory,
 * limits, signal mask and dispositions, and gets none of heapscope's descriptors. Only its
 * environment has some additional variables.
 *
 * The program does not depend on heapscope's life: if heapscope dies, the program goes on.
 *
 * Requires  hs_launch_fork() is called before heapscope blocks signals, raises limits or starts
 *           threads: the child inherits what heapscope was started with.
 * Threads   one.
 * Fails     -errno. hs_launch_go() says why the program could not be executed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/region/heap_selection.h"

struct hs_launch_spec {
    const char *path; /* path of the file to execute */
    char *const *argv;
    const char *preload_path;   /* the client library, absolute */
    const char *collector_name; /* the listener's name */
    uint64_t interval_bytes;
    const struct hs_heap_selection *heaps; /* settled */
    bool is_following;                     /* record children too */
};

struct hs_launch {
    pid_t pid; /* 0: none */
    int go_fd;
    int error_fd;
    /* a symbolic link to the library, whose path has no blanks, to be removed at the end; or
     * NULL */
    char *preload_link;
};

/* Makes the child, which waits. 0 or -errno. */
int hs_launch_fork(const struct hs_launch_spec *spec, struct hs_launch *ret_launch);

/* Lets the child execute the program. 0: the program runs. Otherwise -errno of execve(2), and the
 * child is gone; or -ECHILD: the child had ended before, for example because it was killed. */
int hs_launch_go(struct hs_launch *launch);

/* Releases everything, after go or in place of it. A zeroed struct is allowed. */
void hs_launch_deinit(struct hs_launch *launch);
