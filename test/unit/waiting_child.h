/*
 * A child that waits in a known place, for tests that inspect it from outside.
 *
 * Threads   one.
 */
#pragma once

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inject/ptrace/wait_kind.h"
#include "remote_self.h"

/*
 * Forks, and lets the child call `wait_there`, which must not return. Returns when the child waits.
 */
static inline pid_t waiting_child_start(void (*wait_there)(void), struct hs_wait *ret_wait)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        wait_there();
        _exit(1);
    }
    assert_true(pid > 0);
    const struct timespec pause = { .tv_nsec = 1000000 };
    for (int i = 0; i < 10000; i++) {
        hs_wait_look(pid, pid, ret_wait);
        if (ret_wait->kind == HS_WAIT_SURE || ret_wait->kind == HS_WAIT_TIMED) {
            return pid;
        }
        nanosleep(&pause, NULL);
    }
    fail_msg("the child does not wait");
    return 0;
}

static inline void waiting_child_end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}
