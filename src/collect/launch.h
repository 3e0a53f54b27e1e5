/*
 * Starts a program with the client preloaded, as if it had been started directly.
 *
 * In two steps, so that what depends on the pid (the name of the output file) can be settled before
 * the program runs: hs_launch_fork() makes a child that waits, hs_launch_go() lets it execute the
 * program. The child keeps our process group, terminal, working folder, limits, signal mask and
 * dispositions, and gets no descriptor of ours; only its environment has a few variables more.
 *
 * Nothing ties its life to ours: if we die, it goes on.
 *
 * Holds     hs_launch_fork() must come before we block signals, raise limits or start threads:
 *           what the child inherits is what we were started with.
 * Threads   one.
 * Fails     -errno. hs_launch_go() tells apart why the program could not be executed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hs_launch_spec {
    const char *path; /* of the file to execute */
    char *const *argv;
    const char *preload_path;   /* the client library, absolute */
    const char *collector_name; /* of the listener */
    uint64_t interval_bytes;
    bool is_following; /* children too */
};

struct hs_launch {
    pid_t pid; /* 0: none */
    int go_fd;
    int error_fd;
    char *preload_link; /* a name for the library without blanks, to remove at the end; or NULL */
};

int hs_launch_fork(const struct hs_launch_spec *spec, struct hs_launch *ret_launch);

/* Lets it run. 0: the program is executing. Else -errno of execve(2); the child is gone then. */
int hs_launch_go(struct hs_launch *launch);

/* Instead of go: the child ends without having run anything. Then, and after go: forgets what is
 * held. Fine on a zeroed struct. */
void hs_launch_cancel(struct hs_launch *launch);
void hs_launch_deinit(struct hs_launch *launch);
